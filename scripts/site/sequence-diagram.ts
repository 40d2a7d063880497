// Draws the part of Mermaid's sequence diagrams that our pages use, as an SVG with the page's colours, so that the site
// needs no library and no external host.
//   Supported: `participant A as Name`, `A->>B: text`, `A-->>B: text`, `Note over A,B: text`, `<br/>` in texts.
//   Anything else is an error: a diagram is shown completely or not at all.

interface Actor {
  readonly id: string;
  readonly name: string;
}
type Row =
  | { readonly kind: "message"; from: number; to: number; text: string; dashed: boolean }
  | { readonly kind: "note"; from: number; to: number; text: string };

const COLUMN = 190;
const MARGIN = 16;
const HEAD = 34;
const LINE = 17;
const BOX = 130;

export function isSequenceDiagram(source: string): boolean {
  return source.trimStart().startsWith("sequenceDiagram");
}

export function drawSequence(source: string): string {
  const { actors, rows } = parse(source);
  const center = (index: number): number => MARGIN + BOX / 2 + index * COLUMN;
  const shapes: string[] = [];
  let y = MARGIN + HEAD + 14;
  for (const row of rows) {
    const lines = row.text.split(/<br\s*\/?>/);
    const height = lines.length * LINE;
    if (row.kind === "note") {
      const left = center(Math.min(row.from, row.to)) - BOX / 2;
      const width = Math.abs(row.to - row.from) * COLUMN + BOX;
      shapes.push(box(left, y, width, height + 10, "note"));
      shapes.push(...texts(lines, left + width / 2, y + LINE, "middle"));
      y += height + 24;
      continue;
    }
    const [from, to] = [center(row.from), center(row.to)];
    if (from === to) {
      shapes.push(...texts(lines, from + 34, y + LINE - 4, "start"));
      const path = `M${from} ${y + 4}h26v${height + 2}h-22`;
      shapes.push(`<path d="${path}" class="line" marker-end="url(#head)"/>`);
      y += height + 24;
      continue;
    }
    shapes.push(...texts(lines, (from + to) / 2, y + LINE - 5, "middle"));
    const end = to + (to > from ? -3 : 3);
    const dash = row.dashed ? ' stroke-dasharray="5 4"' : "";
    const at = y + height + 3;
    shapes.push(`<path d="M${from} ${at}H${end}" class="line"${dash} marker-end="url(#head)"/>`);
    y += height + 18;
  }
  const [width, height] = [2 * MARGIN + BOX + (actors.length - 1) * COLUMN, y + MARGIN];
  const heads = actors.flatMap(({ name }, index) => [
    `<path d="M${center(index)} ${MARGIN + HEAD}V${height - 8}" class="life"/>`,
    box(center(index) - BOX / 2, MARGIN, BOX, HEAD, "actor"),
    ...texts([name], center(index), MARGIN + HEAD / 2 + 5, "middle"),
  ]);
  return (
    `<svg class="sequence" viewBox="0 0 ${width} ${height}" role="img" aria-label="Sequence diagram">` +
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">' +
    `<path d="M0 0L8 4L0 8z"/></marker></defs>${heads.join("")}${shapes.join("")}</svg>`
  );
}

function parse(source: string): { actors: Actor[]; rows: Row[] } {
  const actors: Actor[] = [];
  const rows: Row[] = [];
  const indexOf = (id: string): number => {
    const index = actors.findIndex((actor) => actor.id === id);
    if (index < 0) throw new Error(`sequence diagram: no participant ${id}`);
    return index;
  };
  for (const line of source.split("\n").map((text) => text.trim())) {
    if (line === "" || line === "sequenceDiagram") continue;
    const actor = /^participant (\w+) as (.+)$/.exec(line);
    const message = /^(\w+)\s*(-->>|->>)\s*(\w+)\s*:\s*(.+)$/.exec(line);
    const note = /^Note over (\w+)(?:\s*,\s*(\w+))?\s*:\s*(.+)$/.exec(line);
    if (actor !== null) {
      actors.push({ id: actor[1] ?? "", name: actor[2] ?? "" });
    } else if (message !== null) {
      const [, from = "", arrow, to = "", text = ""] = message;
      const dashed = arrow === "-->>";
      rows.push({ kind: "message", from: indexOf(from), to: indexOf(to), text, dashed });
    } else if (note !== null) {
      const [, from = "", to = from, text = ""] = note;
      rows.push({ kind: "note", from: indexOf(from), to: indexOf(to), text });
    } else {
      throw new Error(`sequence diagram: not understood: ${line}`);
    }
  }
  return { actors, rows };
}

function box(x: number, y: number, width: number, height: number, name: string): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="5" class="${name}"/>`;
}

function texts(lines: readonly string[], x: number, y: number, anchor: string): string[] {
  return lines.map((line, index) => {
    const escaped = line.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    return `<text x="${x}" y="${y + index * LINE}" text-anchor="${anchor}">${escaped}</text>`;
  });
}
