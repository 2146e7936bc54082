"""[TG95]: an RRP arm with a sliding flexible link, assumed modes against finite elements, model-based control."""
