"""Two measured arms: predicted from data sheets, identified on one run and held against another."""
