"""[ZZZ]: dynamic stiffening of a spinning beam, and Canadarm2 with flexible links and joints dropping under gravity."""
