// The code check of a repair: finds registered code in this process and replays the copied past with it.

import type { Orchestration } from "../../core/define/definitions.ts";
import { isErrorCode, PerdureError } from "../../core/errors/errors.ts";
import type { BlockReason } from "../../core/history/block.ts";
import type { CopiedPast, PastVerdict, RegisteredCode } from "../../core/repair/code-check.ts";
import type { Store } from "../store.ts";

/** Code that a runtime of this process registers. */
export interface FoundCode {
  readonly definition: Orchestration<never, unknown>;
  readonly replay: (past: CopiedPast) => Promise<PastVerdict>;
}

/** The name and version of code. Version null: the newest that is registered. */
export interface CodeName {
  readonly name: string;
  readonly version: string | null;
}

/** Null: no runtime of this process registers it. */
export function findCode(store: Store, { name, version }: CodeName): FoundCode | null {
  for (const code of store.committer.registeredCode) {
    const found = foundIn(code, name, version);
    if (found !== null) return found;
  }
  return null;
}

function foundIn(code: RegisteredCode, name: string, version: string | null): FoundCode | null {
  const definition = code.find(name, version);
  if (definition === undefined) return null;
  return { definition, replay: (past) => code.replay(past, definition) };
}

/** The error of a repair whose past the code does not arrive at. */
export function divergence(id: string, { code, message }: BlockReason): PerdureError {
  const known = isErrorCode(code) ? code : "NONDETERMINISM";
  const text = `The registered code does not fit the past of instance "${id}", so nothing was changed: ${message}`;
  return new PerdureError(known, text);
}
