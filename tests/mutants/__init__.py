"""Plants one bug at a time into a copy of Pliant and sees whether the tests notice."""
