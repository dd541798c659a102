// Find variables in a prompt template, by the same rule as tasks/templates.py.
const VARIABLE = /\{\{[ \t]*([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*\}\}/g;

// Split a template into pieces [{ text, variable }]; `variable` is '' for plain text.
export function pieces(template) {
  const found = [];
  let at = 0;
  for (const match of template.matchAll(VARIABLE)) {
    if (match.index > at) found.push({ text: template.slice(at, match.index), variable: "" });
    found.push({ text: match[0], variable: match[1] });
    at = match.index + match[0].length;
  }
  if (at < template.length) found.push({ text: template.slice(at), variable: "" });
  return found;
}

export function variables(template) {
  return [
    ...new Set(
      pieces(template)
        .map((piece) => piece.variable)
        .filter(Boolean),
    ),
  ];
}

// Return text and <mark> nodes for pieces; no text becomes markup. `values` is a Map of sample values.
export function nodes(found, values = new Map()) {
  return found.map(({ text, variable }) => {
    if (!variable) return document.createTextNode(text);
    const mark = document.createElement("mark");
    mark.className = "variable";
    mark.textContent = values.get(variable) || text;
    return mark;
  });
}
