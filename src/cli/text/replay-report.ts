// Prints the report of `perdure check`. Instances that break in the same way are printed as one group.

import type {
  BrokenHistory,
  ReplayedHistory,
  ReplayReport,
} from "../../testing/replay-histories.ts";
import { printBlock } from "./block-text.ts";
import { plural } from "./plural.ts";
import { bold, dim, green, red, yellow, type Screen } from "./screen.ts";

const IDS_SHOWN = 5;

export function printReport(
  screen: Screen,
  { checked, ok, broken, unregistered }: ReplayReport,
): void {
  for (const [first, ...others] of groups(broken, causeOf)) {
    const all = [first, ...others];
    screen.line(red("✗ "), bold(titleOf(first)), ` would be blocked: ${idsOf(all)}`);
    printBlock(screen, first.reason);
  }
  for (const [first, ...others] of groups(unregistered, titleOf)) {
    const ids = idsOf([first, ...others]);
    screen.line(yellow("! "), bold(titleOf(first)), ` would wait for a worker: ${ids}`);
    screen.line(dim("    the config does not register this orchestration"));
  }
  const line = `${plural(checked, "history", "histories")} checked, ${ok} ok`;
  if (ok === checked) screen.line(green("✓ "), line);
  else screen.line(dim(line));
}

function titleOf({ name, version = "" }: ReplayedHistory): string {
  return `${name} ${version}`.trim();
}

function idsOf(all: readonly ReplayedHistory[]): string {
  const shown = all.slice(0, IDS_SHOWN).map(({ id }) => id);
  const more = all.length > shown.length ? ` and ${all.length - shown.length} more` : "";
  return shown.join(", ") + more;
}

/** The key of a group: one change of the code breaks many instances at the same event. */
function causeOf(broken: BrokenHistory): string {
  const { sequence, recorded, requested, source, code } = broken.reason;
  const kinds = [recorded?.kind, recorded?.name, requested?.kind, requested?.name];
  return JSON.stringify([titleOf(broken), code, sequence, ...kinds, source]);
}

function groups<T>(all: readonly T[], keyOf: (one: T) => string): [T, ...T[]][] {
  const found = new Map<string, [T, ...T[]]>();
  for (const one of all) {
    const group = found.get(keyOf(one));
    if (group === undefined) found.set(keyOf(one), [one]);
    else group.push(one);
  }
  return [...found.values()];
}
