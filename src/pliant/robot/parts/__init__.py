"""Parts of the description of an arm: links, joints, beams, drives, contacts."""
