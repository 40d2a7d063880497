// Rewinds of one page of a bulk call.
//   - rewind-page.1: The instances whose code this process does not register go to a worker together: one call per code, not
//        one per instance.

import { isPerdureError } from "../../core/errors/errors.ts";
import { generateRequestId } from "../../core/ids/request-ids.ts";
import type { RewoundOrRefused } from "../../core/repair/repair-calls.ts";
import type { Store } from "../store.ts";
import type { CodeName } from "./code.ts";
import { delegated, notRegistered } from "./delegate.ts";
import { tryRewind, type RepairCheck, type RewindOptions, type RewindReport } from "./rewind.ts";

/** Instances whose code this process does not register. */
export interface WithoutCode {
  readonly code: CodeName;
  readonly ids: readonly string[];
}
export interface RewoundPage {
  readonly rewound: readonly RewoundOrRefused[];
  readonly missing: readonly WithoutCode[];
}

/** Checked options. Rewinds the instances whose code this process registers. */
export async function rewindPage(
  store: Store,
  ids: readonly string[],
  options: RewindOptions,
): Promise<RewoundPage> {
  const missing = new Map<string, { code: CodeName; ids: string[] }>();
  const rewindOne = async (id: string): Promise<readonly RewoundOrRefused[]> => {
    const tried = await tryRewind(store, id, options);
    if (tried.kind === "rewound") return [outcomeOf(tried.report)];
    const { name, version } = tried.missing;
    const key = JSON.stringify([name, version]);
    const found = missing.get(key);
    if (found === undefined) missing.set(key, { code: tried.missing, ids: [id] });
    else found.ids.push(id);
    return [];
  };
  const rewound = await Promise.all(
    ids.map((id) => rewindOne(id).catch((error: unknown) => [refusal(id, error)])),
  );
  return { rewound: rewound.flat(), missing: [...missing.values()] };
}

/** Checked options. Workers rewind the instances whose code this process does not register (rewind-page.1). */
export async function rewindPageAnywhere(
  store: Store,
  ids: readonly string[],
  given: RewindOptions,
): Promise<readonly RewoundOrRefused[]> {
  const requestId = given.requestId ?? generateRequestId(store.provider.environment);
  const options = { ...given, requestId };
  const { rewound, missing } = await rewindPage(store, ids, options);
  const elsewhere = missing.map(async (group) => {
    const call = { kind: "rewindMany", ids: group.ids, options } as const;
    try {
      return await delegated<readonly RewoundOrRefused[]>(store, group.code, call);
    } catch (error) {
      return group.ids.map((id) => refusal(id, error));
    }
  });
  return [...rewound, ...(await Promise.all(elsewhere)).flat()];
}

/** In a dry run, an instance of the report whose code diverges would refuse the rewind. */
function outcomeOf({ id, check, others }: RewindReport): RewoundOrRefused {
  const diverged = [check, ...others.map((other) => other.check)].find(isDivergence);
  if (diverged === undefined) return { id, others: others.map(idOf) };
  const { code, message } = diverged;
  return { id, code, message };
}

function isDivergence(
  check: RepairCheck,
): check is Extract<RepairCheck, { readonly kind: "diverged" }> {
  return check.kind === "diverged";
}

export function refusedForCode({ code, ids }: WithoutCode): readonly RewoundOrRefused[] {
  return ids.map((id) => refusal(id, notRegistered(code)));
}

/** Throws an error that is not about the instance. */
function refusal(id: string, error: unknown): RewoundOrRefused {
  if (!isPerdureError(error) || error.code === "STORE_UNAVAILABLE") throw error;
  return { id, code: error.code, message: error.message };
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}
