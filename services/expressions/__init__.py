"""CEL expressions, templates, cluster selectors and classifiers, each evaluated within a budget."""
