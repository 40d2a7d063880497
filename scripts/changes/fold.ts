// Release notes: folds change files, each of one kind, into the changelog under a version.
//   - Nothing is lost: the entries under "Unreleased" stay in their kind, before the entries of the files.
//   - A file that cannot be parsed is an error with its name, before anything is written.

export const KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"] as const;
export type Kind = (typeof KINDS)[number];

export interface ChangeFile {
  readonly path: string;
  readonly text: string;
}
export interface Release {
  readonly version: string;
  /** For example 2026-12-01. */
  readonly date: string;
}

const UNRELEASED = "## Unreleased";

export function foldChanges(
  changelog: string,
  files: readonly ChangeFile[],
  { version, date }: Release,
): string {
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) throw new Error(`${version} is no version`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw new Error(`${date} is no date: 2026-12-01 is one`);
  const start = changelog.indexOf(`${UNRELEASED}\n`);
  if (start < 0) throw new Error(`the changelog has no "${UNRELEASED}"`);
  const rest = changelog.slice(start + UNRELEASED.length);
  const end = rest.search(/^## /m);
  const [pending, older] = end < 0 ? [rest, ""] : [rest.slice(0, end), rest.slice(end)];

  const lines = new Map<Kind, string[]>(KINDS.map((kind) => [kind, []]));
  for (const [kind, text] of sectionsOf(pending)) lines.get(kind)?.push(text);
  for (const file of files) {
    const [kind, text] = readChange(file);
    lines.get(kind)?.push(text);
  }
  const sections = KINDS.flatMap((kind) => {
    const texts = lines.get(kind) ?? [];
    return texts.length === 0 ? [] : [`### ${kind}\n\n${texts.join("\n")}\n`];
  });
  if (sections.length === 0) throw new Error("there is nothing to release");
  const parts = [`${UNRELEASED}\n`, `## ${version} (${date})\n`, ...sections];
  return `${changelog.slice(0, start)}${parts.join("\n")}${older === "" ? "" : `\n${older}`}`;
}

function readChange({ path, text }: ChangeFile): [Kind, string] {
  const [first = "", ...rest] = text.trim().split("\n");
  const body = rest.join("\n").trim();
  if (isKind(first.trim()) && body.startsWith("- ")) return [first.trim() as Kind, body];
  throw new Error(`${path}: its first line must be one of ${KINDS.join(", ")}, followed by a list`);
}

function sectionsOf(pending: string): [Kind, string][] {
  return pending
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [kind = "", ...rest] = section.split("\n");
      if (!isKind(kind.trim()))
        throw new Error(`"${kind}" under Unreleased must be one of ${KINDS.join(", ")}`);
      return [kind.trim() as Kind, rest.join("\n").trim()];
    });
}

function isKind(text: string): text is Kind {
  return (KINDS as readonly string[]).includes(text);
}
