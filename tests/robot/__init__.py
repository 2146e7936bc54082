"""Tests of pliant.robot."""
