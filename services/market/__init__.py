"""Price catalogs and how much room an offer has."""
