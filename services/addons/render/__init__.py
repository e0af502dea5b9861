"""Renderers of add-ons: what makes Kubernetes objects of a folder, one file each; charts are Helm's."""
