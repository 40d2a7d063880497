// Commands that change the state of instances: cancel, terminate, pause, resume, unblock.

import type { Handle, Why } from "../../../client/handle.ts";
import { defineCommand, type CommandHelp, type Program } from "../../define-command.ts";
import {
  addBulkOptions,
  runBulk,
  toEach,
  type BulkAction,
  type BulkOptions,
} from "../../options/bulk.ts";
import { STATUSES } from "../../options/filter-options.ts";
import { addWhyOptions, whyOf, type WhyOptions } from "../../options/why.ts";

interface Control
  extends
    Pick<CommandHelp, "summary" | "description" | "examples">,
    Pick<BulkAction, "past" | "takes"> {
  readonly isFinal?: true;
  readonly act: (handle: Handle, why: Why) => Promise<void>;
}

/** Requests the cancellation of instances; their code runs compensations and cleanup. */
export const addCancel = control("cancel", "cancelled", {
  summary: "request cancellation; the instances run their cleanup code",
  examples: [
    ['perdure cancel order-7 --reason "customer called"', "cancel one instance"],
    ["perdure cancel --name fulfil --created-before 30d", "cancel all matches; asks first"],
    ["perdure cancel --name fulfil --dry-run", "show what would be cancelled"],
  ],
  past: "will be cancelled",
  isFinal: true,
  takes: [{ status: STATUSES.live }],
  act: (handle, why) => handle.cancel(why),
});

/** Ends instances immediately, without running their code. */
export const addTerminate = control("terminate", "terminated", {
  summary: "end instances immediately, without running their code",
  description:
    "Ends instances immediately, without running their code: no compensation, no cleanup. Requests the " +
    'cancellation of their children. Prefer "perdure cancel", which runs cleanup code.',
  examples: [
    ["perdure terminate order-7 --yes", "terminate one instance without asking"],
    ["perdure terminate --blocked --name fulfil", "all blocked instances of an orchestration"],
  ],
  past: "terminated",
  isFinal: true,
  takes: [{ status: STATUSES.live }],
  act: (handle, why) => handle.terminate(why),
});

/** Stops the code of instances until they are resumed. Running activities and steps finish. */
export const addPause = control("pause", "paused", {
  summary: "pause instances; running activities and steps finish",
  examples: [
    ['perdure pause order-7 --reason "bank is down"', "pause one instance"],
    ["perdure pause --name fulfil --status running", "pause all running ones; asks first"],
  ],
  past: "paused",
  takes: [{ status: ["pending", "running"] }],
  act: (handle, why) => handle.pause(why),
});

/** Continues paused instances. */
export const addResume = control("resume", null, {
  summary: "continue paused instances",
  examples: [
    ["perdure resume order-7", "resume one instance"],
    ["perdure resume --all --yes", "resume every paused instance"],
  ],
  past: "resumed",
  takes: [{ status: ["paused"] }],
  act: (handle) => handle.resume(),
});

/** Unblocks instances, so that a worker replays them again. */
export const addUnblock = control("unblock", null, {
  summary: "unblock instances, so that a worker tries them again",
  examples: [
    ["perdure unblock order-7", "unblock one instance"],
    ["perdure unblock --name fulfil --yes", "all blocked instances of an orchestration"],
  ],
  past: "unblocked",
  takes: [{ blocked: true }],
  act: (handle) => handle.unblock(),
});

/** `done`: the word in the default reason. Null: the command takes no reason. */
function control(verb: string, done: string | null, action: Control): (program: Program) => void {
  const { past, takes, isFinal = false, act, ...help } = action;
  return (program) => {
    const command = defineCommand<BulkOptions & WhyOptions>(
      program,
      { usage: `${verb} [ids...]`, ...help },
      (call) => {
        const why = whyOf(call.options, `${done} from the command line`);
        const apply = toEach(({ client }, id) => act(client.get(id), why));
        return runBulk(call, { verb, past, isFinal, takes, act: apply });
      },
    );
    addBulkOptions(done === null ? command : addWhyOptions(command));
  };
}
