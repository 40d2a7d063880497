// What a check of histories found, gathered: instances that break in one way are told once.

import type { BlockReason } from "../core/block.ts";
import type { RecordedHistory } from "../runtime/recorded-history.ts";
import { tellBlock } from "./block-text.ts";
import { plural } from "./plural.ts";
import { bold, dim, green, red, yellow, type Screen } from "./screen.ts";

const IDS_SHOWN = 5;

/** Which history, and where it came from. */
export interface Checked {
  readonly id: string;
  readonly name: string;
  readonly version?: string;
  readonly execution: number;
  /** The file that it was read from; absent: the store. */
  readonly file?: string;
}
export interface Broken extends Checked {
  readonly events: number;
  readonly reason: BlockReason;
}

export class ReplayReport {
  readonly broken: Broken[] = [];
  /** Nobody registers their version: they would wait. */
  readonly unregistered: Checked[] = [];
  ok = 0;

  get checked(): number {
    return this.ok + this.broken.length + this.unregistered.length;
  }

  toJson(): object {
    const { checked, ok, broken, unregistered } = this;
    return { checked, ok, broken, unregistered };
  }

  tell(screen: Screen): void {
    for (const [first, ...others] of groups(this.broken, wayOf)) {
      const all = [first, ...others];
      screen.line(red("✗ "), bold(titleOf(first)), ` would be blocked: ${idsOf(all)}`);
      tellBlock(screen, first.reason);
    }
    for (const [first, ...others] of groups(this.unregistered, titleOf)) {
      screen.line(yellow("! "), bold(titleOf(first)), ` would wait: ${idsOf([first, ...others])}`);
      screen.line(dim("    the config does not register it"));
    }
    const { checked, ok } = this;
    const line = `${plural(checked, "history", "histories")} checked, ${ok} ok`;
    if (ok === checked) screen.line(green("✓ "), line);
    else screen.line(dim(line));
  }
}

export function checkedOf(recorded: RecordedHistory, file: string | undefined): Checked {
  const { id, name, version, execution } = recorded;
  return {
    id,
    name,
    ...(version === null ? {} : { version }),
    execution,
    ...(file === undefined ? {} : { file }),
  };
}

function titleOf({ name, version = "" }: Checked): string {
  return `${name} ${version}`.trim();
}

function idsOf(all: readonly Checked[]): string {
  const shown = all.slice(0, IDS_SHOWN).map(({ id }) => id);
  const more = all.length > shown.length ? ` and ${all.length - shown.length} more` : "";
  return shown.join(", ") + more;
}

/** The same change breaks many instances in the same place. */
function wayOf(broken: Broken): string {
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
