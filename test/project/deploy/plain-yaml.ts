// Reads YAML of a plain style: maps, lists, texts, and lists in brackets on one line. Anything else is an error.
//   The files in docs/deploy/files are written in this style, so a parser of the whole language is not needed.

export type Yaml = string | readonly Yaml[] | { readonly [key: string]: Yaml };

interface Line {
  readonly indent: number;
  readonly text: string;
}

/** The documents of a file. */
export function readYaml(source: string): readonly Yaml[] {
  return source.split(/^---$/m).map((document) => {
    const lines = document.split("\n").flatMap((line): Line[] => {
      const text = line.trim();
      if (text === "" || text.startsWith("#")) return [];
      if (line.includes("\t")) throw new Error(`A tab in YAML: ${line}`);
      return [{ indent: line.length - line.trimStart().length, text }];
    });
    const value = block(lines, lines[0]?.indent ?? 0);
    if (lines.length > 0) throw new Error(`Wrong indentation: ${lines[0]?.text}`);
    return value;
  });
}

/** Takes the lines of one map or list. */
function block(lines: Line[], indent: number): Yaml {
  return lines[0]?.text.startsWith("- ") === true ? list(lines, indent) : map(lines, indent);
}

function list(lines: Line[], indent: number): readonly Yaml[] {
  const items: Yaml[] = [];
  for (
    let line = lines[0];
    line?.indent === indent && line.text.startsWith("- ");
    line = lines[0]
  ) {
    const text = line.text.slice(2);
    const inner = indent + 2;
    if (/^[\w.-]+:(\s|$)/.test(text)) {
      lines[0] = { indent: inner, text };
      items.push(map(lines, inner));
    } else {
      lines.shift();
      items.push(scalar(text));
    }
  }
  return items;
}

function map(lines: Line[], indent: number): Yaml {
  const entries: Record<string, Yaml> = {};
  for (let line = lines[0]; line?.indent === indent; line = lines[0]) {
    const [, key, rest = ""] = /^([\w.-]+):(?:\s+(.*))?$/.exec(line.text) ?? [];
    if (key === undefined) throw new Error(`Not "key: value": ${line.text}`);
    if (key in entries) throw new Error(`The key ${key} is there twice.`);
    lines.shift();
    const next = lines[0];
    if (rest !== "") entries[key] = scalar(rest);
    else if (next !== undefined && next.indent > indent) entries[key] = block(lines, next.indent);
    else throw new Error(`The key ${key} has no value.`);
  }
  return entries;
}

function scalar(text: string): Yaml {
  if (text === "{}") return {};
  if (text.startsWith('"')) return JSON.parse(text) as string;
  if (!text.startsWith("[")) return text;
  return text
    .slice(1, -1)
    .split(", ")
    .map((item) => (item.startsWith('"') ? (JSON.parse(item) as string) : item));
}
