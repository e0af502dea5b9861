"""`alate outbound`: lists notification targets and what is missing for them."""
