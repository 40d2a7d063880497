// Builders of the items of a job: its start with the first turn, and its last turn. A runtime leases neither.

import type {
  InstanceChange,
  NewTask,
  StartItem,
  StartResult,
  TaskClaim,
  TurnItem,
} from "../../../core/provider/index.ts";
import { JOB_VERSION } from "../../../core/ids/semver.ts";
import {
  ALPHA,
  CHARGE,
  completedText,
  fresh,
  newTask,
  outcomeText,
  scheduledText,
  startedText,
  startItem,
  turnItem,
  type TurnFields,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** The sequence of the activity of every job. */
const CALL = 2;

export type JobStart = StartItem & { readonly firstTurn: TurnItem };
export type JobFields = Partial<StartItem> & {
  readonly id: string;
  readonly task?: Partial<NewTask>;
};

/** The start of a job (commit.6). */
export function jobStart({ task, ...fields }: JobFields): JobStart {
  const runId = fields.runId ?? `run-${fresh()}`;
  const name = CHARGE;
  const version = JOB_VERSION;
  const item = startItem({
    name,
    version,
    started: startedText({ runId, name }),
    ...fields,
    runId,
  });
  const { id } = item;
  const place = { id, runId, key: 0, execution: 1, token: 0, lastEvent: 0 };
  const firstTurn = turnItem(place, {
    version,
    events: [item.started, scheduledText(name)],
    tasks: [newTask({ name, sequence: CALL, ...task })],
    release: true,
  });
  return { ...item, firstTurn };
}

/** Commits the start of a job. Returns its key. */
export async function startJob(setup: Setup, fields: JobFields): Promise<number> {
  return keyOf(await setup.commit(jobStart(fields)));
}

/** Starts a job whose task is leased to ALPHA. Returns the claim of its task. */
export async function claimJob(setup: Setup, id: string): Promise<TaskClaim> {
  const lease = { owner: ALPHA, token: fresh() };
  const key = await startJob(setup, { id, task: { lease } });
  return { key, execution: 1, sequence: CALL, token: lease.token };
}

export function keyOf(result: StartResult): number {
  if (result.kind !== "started") throw new Error(`The start returned ${JSON.stringify(result)}.`);
  return result.key;
}

/** The turn that ends a job whose activity completed (commit.7). */
export function jobEnd(claim: TaskClaim, fields: TurnFields = {}): TurnItem {
  const { key, execution } = claim;
  const change: InstanceChange = {
    kind: "ended",
    status: "completed",
    output: '"paid"',
    error: null,
  };
  const place = { id: "", runId: "", key, execution, token: 0, lastEvent: CALL };
  return turnItem(place, {
    isUnleased: true,
    events: [outcomeText(CALL), completedText('"paid"')],
    finished: [claim],
    change,
    release: true,
    ...fields,
  });
}
