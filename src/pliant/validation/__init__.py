"""Validation: predictions compared with measurements, and faults of recordings."""

from __future__ import annotations

from pliant.validation.channel_match import ChannelMatch
from pliant.validation.closeness import fit_percent, nrmse, pooled_nrmse
from pliant.validation.decay import Decay, free_decay
from pliant.validation.error_shares import ErrorShares
from pliant.validation.recording_faults import recording_doubts, recording_faults
from pliant.validation.ring_downs import RingDown
from pliant.validation.validate import Validation, validate

__all__ = [
    "ChannelMatch",
    "Decay",
    "ErrorShares",
    "RingDown",
    "Validation",
    "fit_percent",
    "free_decay",
    "nrmse",
    "pooled_nrmse",
    "recording_doubts",
    "recording_faults",
    "validate",
]
