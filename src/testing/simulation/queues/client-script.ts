// Client script: the calls of one client, in order. After a crash the next process repeats the call whose answer is not
// known, and continues.

import type { EnqueueOptions } from "../../../client/jobs/job-item.ts";
import type { Activity } from "../../../core/define/definitions.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import type { Hand } from "../world/workload.ts";
import type { MadeCalls } from "./made-calls.ts";
import type { CallRule, JobInput, QueueClient, Step } from "./plan.ts";

type StepOf<Kind extends Step["kind"]> = Extract<Step, { readonly kind: Kind }>;
/** The definition of a job, by its name. */
export type JobOf = (name: string) => Activity<JobInput, string>;

export class ClientScript {
  readonly #client: QueueClient;
  readonly #calls: MadeCalls;
  readonly #jobOf: JobOf;
  /** The number of answered calls. */
  #done = 0;

  constructor(client: QueueClient, calls: MadeCalls, jobOf: JobOf) {
    this.#client = client;
    this.#calls = calls;
    this.#jobOf = jobOf;
  }

  async run(hand: Hand): Promise<void> {
    for (const step of this.#client.steps.slice(this.#done)) {
      const waitMs = step.atMs - hand.elapsedMs();
      if (waitMs > 0) await hand.process.sleep(waitMs);
      await this.#step(hand, step);
      this.#done++;
    }
  }

  #step(hand: Hand, step: Step): Promise<void> {
    switch (step.kind) {
      case "enqueue":
        return this.#enqueue(hand, step);
      case "enqueueMany":
        return this.#enqueueMany(hand, step);
      case "start":
        return this.#start(hand, step);
      case "pauseQueue":
      case "resumeQueue":
        return patiently(hand, () => hand.client[step.kind](step.queue));
    }
  }

  async #enqueue(hand: Hand, step: StepOf<"enqueue">): Promise<void> {
    const { rule, queue, ms, fails, delayMs } = step;
    const { client, elapsedMs } = hand;
    // A request id makes a repetition safe. A call under a rule has none, so its repetition is another call.
    const value = rule === null ? step.value : this.#calls.valueOf(step.value);
    const input = { value, ms, fails };
    const call = this.#calls.begin({ queue, rule, input, delayMs, beganAt: elapsedMs() });
    const options: EnqueueOptions = {
      key: step.key,
      priority: step.priority,
      ...(delayMs === 0 ? {} : { delay: delayMs }),
      ...(rule === null ? { requestId: value } : optionsOf(rule)),
    };
    try {
      const job = this.#jobOf(queue);
      const { id } = await (step.isByName
        ? client.enqueue(queue, input, options)
        : client.enqueue(job, input, options));
      call.answer = { id, at: elapsedMs() };
      hand.ledger.acknowledge({ kind: "start", id, request: value, at: elapsedMs() });
      await this.#cancel(hand, id, step.cancelAfterMs);
    } catch (error) {
      const mayFail = rule?.kind === "unique" && rule.onConflict === "fail";
      if (!mayFail || !isPerdureError(error, "INSTANCE_EXISTS")) throw error;
      call.answer = { id: null, at: elapsedMs() };
    }
  }

  async #cancel(hand: Hand, id: string, afterMs: number | null): Promise<void> {
    if (afterMs === null) return;
    await hand.process.sleep(afterMs);
    this.#calls.cancelled.add(id);
    try {
      await hand.client.get(id).cancel("the plan says so");
    } catch (error) {
      if (!isPerdureError(error, "INSTANCE_FINISHED")) throw error;
    }
  }

  async #enqueueMany(hand: Hand, { calls }: StepOf<"enqueueMany">): Promise<void> {
    const [first] = calls;
    if (first === undefined) return;
    const { client, ledger, elapsedMs } = hand;
    const { queue, value: requestId } = first;
    const inputs = calls.map(({ value, ms, fails }) => ({ value, ms, fails }));
    const noted = inputs.map((input) =>
      this.#calls.begin({ queue, rule: null, input, delayMs: 0, beganAt: elapsedMs() }),
    );
    const items = inputs.map((input, index) => ({ input, key: calls[index]?.key ?? "" }));
    const ids = await client.enqueueMany(this.#jobOf(queue), items, { requestId });
    for (const [index, id] of ids.entries()) {
      const call = noted[index];
      if (call !== undefined) call.answer = { id, at: elapsedMs() };
      ledger.acknowledge({ kind: "start", id, request: requestId, at: elapsedMs() });
    }
  }

  async #start(hand: Hand, { id, calls }: StepOf<"start">): Promise<void> {
    const { client, ledger, elapsedMs } = hand;
    await client.start("caller", calls, { id, requestId: id });
    ledger.acknowledge({ kind: "start", id, request: id, at: elapsedMs() });
  }
}

function optionsOf(rule: CallRule): EnqueueOptions {
  const { key } = rule;
  switch (rule.kind) {
    case "unique":
      return { unique: { key, onConflict: rule.onConflict } };
    case "debounce": {
      const max = rule.maxMs === null ? {} : { max: rule.maxMs };
      return { debounce: { key, wait: rule.waitMs, ...max } };
    }
    case "throttle":
      return { throttle: { key, per: rule.perMs, trailing: rule.trailing } };
  }
}

/** Retries while the store is unavailable. The call must be safe to repeat. */
async function patiently({ process }: Hand, call: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isPerdureError(error, "STORE_UNAVAILABLE")) throw error;
      await process.sleep(process.unitMs / 4);
    }
  }
}
