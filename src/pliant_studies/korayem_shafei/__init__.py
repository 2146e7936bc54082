"""[KS09]: a two-link elastic arm by recursive Gibbs-Appell, against finite elements; operation counts."""
