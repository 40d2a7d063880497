// Rewind: goes on at a point in the past of an ended or blocked instance, as its next execution (semantics 21b).
//   - rewind.1: The registered code replays the copied past before anything is written. Without the code in this process,
//        a worker carries out the whole call (delegate.ts).
//   - The store compares what the plan was made from. If the instance changed meanwhile, the plan is made again.

import { checkFlag, checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import { PerdureError, type ErrorCode } from "../../core/errors/errors.ts";
import { parseRequestId, showValue } from "../../core/ids/ids.ts";
import { generateRequestId } from "../../core/ids/request-ids.ts";
import type { RewindTarget } from "../../core/provider/index.ts";
import { checkCutPoint, type RewindPoint } from "../../core/repair/cut.ts";
import { pastBefore } from "../../core/repair/past.ts";
import { previewOf, type PastPreview } from "../../core/repair/preview.ts";
import { checkReplacements, type Replacement } from "../../core/repair/replace.ts";
import { refusedWrite, type Store } from "../store.ts";
import { divergence, findCode, type CodeName, type FoundCode } from "./code.ts";
import { delegated } from "./delegate.ts";
import { draftsOf, readPast, type Draft, type Drafts } from "./drafts.ts";
import { planOf, type Plan, type RepairReason } from "./plan.ts";

/** Why an instance is repaired, and who repairs it. Shown in `describe().repairs` and in the timeline. */
export interface RepairOptions {
  readonly reason?: string;
  readonly by?: string;
}

/** Options of `handle.rewind`. */
export type RewindOptions = RewindPoint &
  RepairOptions & {
    /**
     * Also rewinds the ancestors that received the end of the instance, and the children of all of them that failed, or
     * were cancelled or terminated, and that the kept past waits for.
     */
    readonly tree?: boolean;
    /** Outcomes for calls before the cut: the code gets these values. */
    readonly replace?: readonly Replacement[];
    /** Returns the preview and writes nothing. */
    readonly dryRun?: boolean;
    /** Repeated calls with the same id rewind once. */
    readonly requestId?: string;
  };

/** Whether the registered code arrives at the end of the copied past. */
export type RepairCheck =
  | { readonly kind: "ok" }
  | { readonly kind: "diverged"; readonly code: ErrorCode; readonly message: string };

/** What a rewind does with one instance. */
export interface RewoundInstance extends PastPreview {
  readonly id: string;
  /** The execution whose past is copied. */
  readonly from: number;
  /** The execution that begins. */
  readonly execution: number;
  readonly check: RepairCheck;
}

/** What a rewind did or, with `dryRun`, would do. */
export interface RewindReport extends RewoundInstance {
  readonly dryRun: boolean;
  /** With `tree`: the other instances, each parent before its child. */
  readonly others: readonly RewoundInstance[];
}

const OPTIONS: Members<Record<keyof RewindOptions | "before" | "to", true>> = {
  to: true,
  before: true,
  reason: true,
  by: true,
  tree: true,
  replace: true,
  dryRun: true,
  requestId: true,
};
const TRIES = 5;

export function checkRewind(options: RewindOptions, what = "handle.rewind"): void {
  checkMembers(options, OPTIONS, what);
  const { to, before } = options as { readonly to?: unknown; readonly before?: unknown };
  if ((to === undefined) === (before === undefined)) {
    throw invalidArgument(`${what} needs either { to: "failure" } or { before }.`);
  }
  if (to !== undefined && to !== "failure") {
    throw invalidArgument(`to must be "failure"; got ${showValue(to)}.`);
  }
  if (before !== undefined) checkCutPoint(before, "before");
  checkReason(options);
  checkFlag(options.tree, "tree");
  checkFlag(options.dryRun, "dryRun");
  if (options.replace !== undefined) checkReplacements(options.replace);
  if (options.requestId !== undefined) parseRequestId(options.requestId);
}

export function checkReason({ reason, by }: RepairOptions): void {
  for (const [name, value] of Object.entries({ reason, by })) {
    if (value === undefined || (typeof value === "string" && value !== "")) continue;
    throw invalidArgument(`${name} must be a non-empty string; got ${showValue(value)}.`);
  }
}

export function reasonOf({ reason, by }: RepairOptions, standard: string): RepairReason {
  return { reason: reason ?? standard, by };
}

/** Checked options. */
export async function rewindInstance(
  store: Store,
  id: string,
  options: RewindOptions,
): Promise<RewindReport> {
  const requestId = options.requestId ?? generateRequestId(store.provider.environment);
  const bound = { ...options, requestId };
  const tried = await tryRewind(store, id, bound);
  if (tried.kind === "rewound") return tried.report;
  return delegated<RewindReport>(store, tried.missing, { kind: "rewind", id, options: bound });
}

/** A rewind, or the code that it needs and that no runtime of this process registers. */
export type TriedRewind =
  | { readonly kind: "rewound"; readonly report: RewindReport }
  | { readonly kind: "noCode"; readonly missing: CodeName };

/** Checked options. Rewinds if this process has the code. */
export async function tryRewind(
  store: Store,
  id: string,
  options: RewindOptions,
): Promise<TriedRewind> {
  const requestId = options.requestId ?? generateRequestId(store.provider.environment);
  const earlier = options.requestId === undefined ? null : await repeated(store, id, requestId);
  if (earlier !== null) return { kind: "rewound", report: earlier };
  for (let tries = 1; ; tries++) {
    const drafts = await draftsOf(store, id, options);
    const { all, own } = drafts;
    const codes = all.map(({ record }) => findCode(store, record));
    const missing = all.find((_, index) => codes[index] === null);
    if (missing !== undefined) {
      const { name, version } = missing.record;
      return { kind: "noCode", missing: { name, version } };
    }
    const plans = await Promise.all(all.map((draft) => planFor(store, draft, drafts, options)));
    const checked = await Promise.all(plans.map((plan, index) => checkPlan(plan, codes[index])));
    const report = reportOf(checked, own, options.dryRun ?? false);
    if (options.dryRun === true) return { kind: "rewound", report };
    const targets = checked.map(({ plan, verdict }): RewindTarget => {
      if (verdict.kind === "blocked") throw divergence(plan.record.id, verdict.reason);
      return { ...plan.target, closedStreams: verdict.closedStreams };
    });
    const result = await store.committer.submit({ kind: "rewind", id, requestId, targets });
    if (result.kind === "rewound") return { kind: "rewound", report };
    if (result.code === "INSTANCE_NOT_FOUND") throw refusedWrite(result.code, result.id);
    if (result.code === "PARENT_INFORMED") throw parentInformed(result.id);
    if (tries < TRIES) continue; // it changed since it was read
    throw refusedWrite(result.code, result.id);
  }
}

/** The report of an earlier call with this request id. */
async function repeated(store: Store, id: string, requestId: string): Promise<RewindReport | null> {
  const item = { kind: "rewind", id, requestId, targets: [] } as const;
  const found = await store.read((provider) => provider.settle(item));
  if (found?.kind !== "rewound") return null;
  const { execution } = found;
  const record = await store.record(id);
  const [started] = (await readPast(store, record, execution)).events;
  const { events } = await readPast(store, record, execution - 1);
  const rewound = started?.kind === "OrchestrationStarted" ? started : undefined;
  const before = rewound?.repairs?.at(-1)?.before ?? 0;
  const preview = previewOf(pastBefore(events, before), rewound?.rewound?.kept ?? []);
  const check = { kind: "ok" } as const;
  return { id, from: execution - 1, execution, ...preview, check, dryRun: false, others: [] };
}

function planFor(
  store: Store,
  draft: Draft,
  { all, own, unawareParent }: Drafts,
  options: RewindOptions,
): Promise<Plan> {
  const isChildOf = (child: Draft, parent: Draft): boolean =>
    child.record.parent?.id === parent.record.id;
  return planOf(store, draft, {
    why: reasonOf(options, "rewound by request"),
    replace: draft === own ? (options.replace ?? []) : [],
    children: all.filter((other) => isChildOf(other, draft)),
    withParent: all.some((other) => isChildOf(draft, other)),
    unawareParent: draft === all[0] ? unawareParent : null,
  });
}

interface CheckedPlan {
  readonly plan: Plan;
  readonly verdict: Awaited<ReturnType<FoundCode["replay"]>>;
}

async function checkPlan(plan: Plan, code: FoundCode | null | undefined): Promise<CheckedPlan> {
  if (code === null || code === undefined) throw new Error("The code was found before.");
  return { plan, verdict: await code.replay(plan.past) };
}

function reportOf(checked: readonly CheckedPlan[], own: Draft, dryRun: boolean): RewindReport {
  const all = checked.map(({ plan, verdict }): RewoundInstance => {
    const { id, execution } = plan.record;
    return {
      id,
      from: execution,
      execution: execution + 1,
      ...plan.preview,
      check: checkOf(id, verdict),
    };
  });
  const main = all.find(({ id }) => id === own.record.id);
  if (main === undefined) throw new Error("The instance itself has a plan.");
  return { ...main, dryRun, others: all.filter((each) => each !== main) };
}

function checkOf(id: string, verdict: CheckedPlan["verdict"]): RepairCheck {
  if (verdict.kind === "ok") return { kind: "ok" };
  const { code, message } = divergence(id, verdict.reason);
  return { kind: "diverged", code, message };
}

function parentInformed(id: string): PerdureError {
  const message = `Instance "${id}" cannot be rewound alone: its parent has received its end, or is about to. Rewind both with { tree: true }.`;
  return new PerdureError("PARENT_INFORMED", message);
}
