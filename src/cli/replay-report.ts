// What a check of histories found, gathered: instances that break in one way are told once.

import type { BrokenHistory, ReplayedHistory, ReplayReport } from "../testing/replay-histories.ts";
import { tellBlock } from "./block-text.ts";
import { plural } from "./plural.ts";
import { bold, dim, green, red, yellow, type Screen } from "./screen.ts";

const IDS_SHOWN = 5;

export function tellReport(
  screen: Screen,
  { checked, ok, broken, unregistered }: ReplayReport,
): void {
  for (const [first, ...others] of groups(broken, wayOf)) {
    const all = [first, ...others];
    screen.line(red("✗ "), bold(titleOf(first)), ` would be blocked: ${idsOf(all)}`);
    tellBlock(screen, first.reason);
  }
  for (const [first, ...others] of groups(unregistered, titleOf)) {
    screen.line(yellow("! "), bold(titleOf(first)), ` would wait: ${idsOf([first, ...others])}`);
    screen.line(dim("    the config does not register it"));
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

/** The same change breaks many instances in the same place. */
function wayOf(broken: BrokenHistory): string {
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
