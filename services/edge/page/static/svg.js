// Elements of pictures: every text goes in as text.

const SVG = "http:/" + "/www.w3.org/2000/svg";

/** An element of an SVG. */
export function shape(tag, attributes, className, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.setAttribute("class", className);
  if (text) made.textContent = text;
  return made;
}
