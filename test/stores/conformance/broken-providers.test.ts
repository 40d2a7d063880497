// The contract suite must find broken providers: each provider here breaks one rule, and the named case must fail on it.
// The same case must pass on the correct provider in the same wrapper.

import { describe, expect, test } from "vitest";
import {
  casesWith,
  contractSubjects,
  runCase,
  type OpenProvider,
} from "../../../src/testing/conformance/index.ts";
import { fresh } from "../../../src/testing/conformance/fixture.ts";
import {
  changingAppends,
  changingItems,
  changingMessages,
  changingTurns,
  dropsNeighboursOfRefused,
  filtersNamesAfterLimit,
  forgetsLostAnswers,
  ignoresLastEvent,
  ignoresTokens,
  ignoresTokensOfAppends,
  leasesWhatOthersHold,
  leavesTracesOfRefusedTurns,
  letsExpiryDecide,
  losesSuspectFlag,
  losesSuspicion,
  mixesProgressWithDetails,
  openBroken,
  orphansDescendants,
  overlooksInstances,
  pagesByOffset,
  prunesRegardlessOfNumber,
  settlesNothing,
  takesPausesForLostLeases,
  notifiesBeforeItWrites,
  type Breakage,
} from "./broken-provider.ts";
import { IN_MEMORY, openInMemory } from "./sqlite-store.ts";

/** Whether the case, named as `subject: title`, passes on this provider. */
async function passes(name: string, open: OpenProvider): Promise<boolean> {
  const cases = contractSubjects.flatMap((subject) =>
    casesWith(subject, IN_MEMORY).map((each) => ({
      ...each,
      name: `${subject.subject}: ${each.title}`,
    })),
  );
  const found = cases.find((each) => each.name === name);
  if (found === undefined) throw new Error(`The contract has no case "${name}".`);
  return runCase(found, open).then(
    () => true,
    () => false,
  );
}

const BREAKAGES: readonly { what: string; breakage: Breakage; caughtBy: string }[] = [
  {
    what: "stores no answers",
    breakage: changingTurns(({ answers: _, ...turn }) => turn),
    caughtBy: "asks: an ask is open until a turn answers it, and then has the answer",
  },
  {
    what: "forgets which instance asked",
    breakage: changingItems((item) => (item.kind === "ask" ? { ...item, asker: null } : item)),
    caughtBy: "askers: an asker is notified when the instance ends by a turn",
  },
  {
    what: "takes every append for the first of a new run",
    breakage: changingAppends((append) => ({ ...append, run: `${fresh()}`, position: 0 })),
    caughtBy: "appends to streams: a repeated append writes nothing (I14)",
  },
  {
    what: "does not notice another run of a call",
    breakage: changingAppends((append) => ({ ...append, run: "run" })),
    caughtBy:
      "appends to streams: another run of a call writes a reset before its values (provider.streams.3)",
  },
  {
    what: "accepts the appends of a lost lease",
    breakage: ignoresTokensOfAppends,
    caughtBy:
      "appends to streams: an append with another token is refused, also after earlier appends of its run (I2)",
  },
  {
    what: "settles whatever the outcome of a call is",
    breakage: changingItems((item) =>
      item.kind === "completion" ? { ...item, task: { ...item.task, streamValues: 1 } } : item,
    ),
    caughtBy: "settled items of streams: the items of a call that failed for good are void",
  },
  {
    what: "accepts an outcome without the values of its attempt",
    breakage: changingItems((item) =>
      item.kind === "completion" && item.task.streamValues !== undefined
        ? { ...item, task: { ...item.task, streamValues: 0 } }
        : item,
    ),
    caughtBy:
      "settled items of streams: a completion is refused if values of its attempt are missing, and the task stays leased (provider.streams.7)",
  },
  {
    what: "never closes a stream",
    breakage: changingTurns(({ streams, ...turn }) =>
      streams === undefined
        ? turn
        : { ...turn, streams: streams.map(({ name, values }) => ({ name, values })) },
    ),
    caughtBy:
      "streams of turns: a closed stream accepts no append, and is over after its last entry",
  },
  {
    what: "reads a stream by whole chunks only",
    breakage: (real) => ({
      async readStream(request) {
        const page = await real.readStream(request);
        if (page === null) return null;
        return { ...page, chunks: page.chunks.filter(({ offset }) => offset >= request.from) };
      },
    }),
    caughtBy: "reading streams: a page begins with the chunk that contains the offset",
  },
  {
    what: "drops dispatched items",
    breakage: changingTurns(({ dispatched: _, ...turn }) => turn),
    caughtBy:
      "dispatched items: events reach their receivers in order, and the sender gets a message for each",
  },
  {
    what: "ignores the token of a turn",
    breakage: ignoresTokens,
    caughtBy: "fencing: a turn with a wrong token is refused",
  },
  {
    what: "ignores the last event of a turn without events",
    breakage: ignoresLastEvent,
    caughtBy: "fencing: a turn without events must also name the current last event",
  },
  {
    what: "drops the other items of a group with a refused item",
    breakage: dropsNeighboursOfRefused,
    caughtBy: "group commit: refused items do not affect the other items of a group (commit.1)",
  },
  {
    what: "leaves traces of a refused turn",
    breakage: leavesTracesOfRefusedTurns,
    caughtBy: "turn atomicity: a refused turn writes nothing, whatever it contains (I1, I2)",
  },
  {
    what: "returns messages in the wrong order",
    breakage: changingMessages((messages) => messages.toReversed()),
    caughtBy: "inbox order: events are delivered in the order of sending (P7)",
  },
  {
    what: "fires timers a millisecond early",
    breakage: changingTurns((turn) => ({
      ...turn,
      timers: turn.timers.map((timer) =>
        timer.delayMs === undefined ? timer : { ...timer, delayMs: timer.delayMs - 1 },
      ),
    })),
    caughtBy: "timers: a timer fires when it is due, and not a millisecond early (P5)",
  },
  {
    what: "counts a timer's milliseconds in 32 bits",
    breakage: changingTurns((turn) => ({
      ...turn,
      timers: turn.timers.map((timer) =>
        timer.delayMs === undefined ? timer : { ...timer, delayMs: timer.delayMs | 0 },
      ),
    })),
    caughtBy: "timers: a timer of more than 2^31 ms fires when it is due, and not before (P5)",
  },
  {
    what: "loses the suspect flag of a task",
    breakage: losesSuspectFlag,
    caughtBy: "task suspects: a suspect is leased only if the request allows suspects",
  },
  {
    what: "counts the death of a thread as a failure",
    breakage: changingItems((item) => {
      if (item.kind !== "retry") return item;
      const { died: _, ...retry } = item;
      return retry;
    }),
    caughtBy:
      "task suspects: a crashed attempt counts as a death of that task only (provider.tasks.4)",
  },
  {
    what: "mixes progress with details",
    breakage: mixesProgressWithDetails,
    caughtBy: "heartbeats: details and progress are stored separately",
  },
  {
    what: "loses the suspicion against an instance",
    breakage: losesSuspicion,
    caughtBy:
      "suspicion: every cold lease without a commit raises the suspicion of the next lease by one (9a)",
  },
  {
    what: "leases what another runtime holds",
    breakage: leasesWhatOthersHold,
    caughtBy: "instance leases: an instance is leased to one runtime at a time",
  },
  {
    what: "handles a repeated request as a new request",
    breakage: forgetsLostAnswers,
    caughtBy: "lost replies: a repeated lease call returns the same instances, marked as fresh",
  },
  {
    what: "filters names after the limit",
    breakage: filtersNamesAfterLimit,
    caughtBy:
      "tasks: names are filtered before the limit, so tasks of other names do not starve any task (provider.tasks.3)",
  },
  {
    what: "forgets request ids",
    breakage: changingItems((item, real) => {
      if (item.kind !== "send") return item;
      return { ...item, requestId: real.environment.randomHex(16) };
    }),
    caughtBy:
      "sends: a send that is repeated with its request id is stored once and returns done twice (messages.3)",
  },
  {
    what: "remembers generated request ids forever",
    breakage: changingItems((item) =>
      item.kind === "send" ? { ...item, requestId: `chosen-${item.requestId}` } : item,
    ),
    caughtBy:
      "generated request ids: a generated id older than six hours is forgotten when its instance continues as new",
  },
  {
    what: "handles request ids chosen by callers like generated ones",
    breakage: changingItems((item) =>
      item.kind === "send" ? { ...item, requestId: `perdure.000000000-${item.requestId}` } : item,
    ),
    caughtBy:
      "generated request ids: an id that the caller chose is remembered, however often its instance continues as new",
  },
  {
    what: "does not delete a message that a turn consumed",
    breakage: changingTurns((turn) => ({ ...turn, consumed: turn.consumed.slice(1) })),
    caughtBy: "turn atomicity: a turn consumes only the messages it names (messages.1)",
  },
  {
    what: "does not delete the rows of finished tasks",
    breakage: changingTurns((turn) => ({ ...turn, finished: [] })),
    caughtBy: "turn atomicity: a turn deletes the rows of the tasks it finishes",
  },
  {
    what: "loses unread messages when an instance continues as new",
    breakage: changingTurns((turn) =>
      turn.change.kind === "continued" ? { ...turn, change: { ...turn.change, unread: [] } } : turn,
    ),
    caughtBy: "continue as new: unread messages are put back in order, after the start (18a)",
  },
  {
    what: "forgets that steps are open",
    breakage: changingTurns((turn) => ({ ...turn, stepsOpen: false })),
    caughtBy:
      "liveness: an instance whose owner died with open steps receives a wake message (provider.runtimes.3)",
  },
  {
    what: "abandons every child",
    breakage: changingTurns((turn) => ({
      ...turn,
      starts: turn.starts.map((start) => ({ ...start, onParentClose: "abandon" })),
    })),
    caughtBy:
      "terminate: the children of a terminated instance receive a cancel request, except abandoned ones (19a)",
  },
  {
    what: "notifies about a commit before it is written",
    breakage: notifiesBeforeItWrites,
    caughtBy:
      "notifications: a listener can read the committed change when it is notified (notifications.1, I13)",
  },
  {
    what: "reports a pause as a lost lease",
    breakage: takesPausesForLostLeases,
    caughtBy:
      "pause: a turn of a paused instance is refused with PAUSED, and the lease is kept (19a)",
  },
  {
    what: "forgets the key-values of a turn",
    breakage: changingTurns((turn) => ({
      ...turn,
      state: turn.state && { ...turn.state, keyValues: turn.state.keyValues.slice(0, 1) },
    })),
    caughtBy:
      "key-values: changes of key-values are applied in order: set, overwrite, delete, clear",
  },
  {
    what: "never clears a status",
    breakage: changingTurns((turn) =>
      turn.state?.status?.value === null
        ? { ...turn, state: { ...turn.state, status: null } }
        : turn,
    ),
    caughtBy:
      "visible state: every commit that sets the status raises its version by one (provider.state.2)",
  },
  {
    what: "keeps no message for a missing instance",
    breakage: changingItems((item) =>
      item.kind === "send" ? { ...item, ifMissing: "fail" } : item,
    ),
    caughtBy:
      "early messages: an early event waits for the start of its instance and does not create the instance",
  },
  {
    what: "loses the events of a start",
    breakage: changingItems((item) => (item.kind === "start" ? { ...item, events: [] } : item)),
    caughtBy: "start with events: a lease returns the events together with the start",
  },
  {
    what: "pages by offset",
    breakage: pagesByOffset,
    caughtBy:
      "listing: instances created during paging do not repeat or hide other instances (admin.2)",
  },
  {
    what: "does not delete the children of a deleted instance",
    breakage: orphansDescendants,
    caughtBy: "deletion: deleting a root deletes its whole tree and no other instance",
  },
  {
    what: "prunes regardless of keepLast",
    breakage: prunesRegardlessOfNumber,
    caughtBy: "pruning: keepLast counts the current execution",
  },
  {
    what: "overlooks due instances when it peeks",
    breakage: overlooksInstances,
    caughtBy: "peek: a start without a lease is due, whatever its name",
  },
  {
    what: "settles nothing",
    breakage: settlesNothing,
    caughtBy: "settle: a written turn settles as committed, with the messages that are due now",
  },
  {
    what: "refuses a turn only because its lease has expired",
    breakage: letsExpiryDecide,
    caughtBy:
      "fencing: a runtime with an expired lease can still write until another runtime takes over the instance (I2)",
  },
];

describe("the provider contract", () => {
  test("has unique case titles within each subject", () => {
    const titles = contractSubjects.flatMap(({ subject, cases }) =>
      cases.map(({ title }) => `${subject}: ${title}`),
    );
    expect(titles.length).toBeGreaterThan(600);
    expect(titles).toEqual([...new Set(titles)]);
  });
});

describe("the provider contract catches a provider that", () => {
  for (const { what, breakage, caughtBy } of BREAKAGES) {
    test(what, async () => {
      expect(
        await passes(
          caughtBy,
          openBroken(openInMemory, () => ({})),
        ),
      ).toBe(true);
      expect(await passes(caughtBy, openBroken(openInMemory, breakage))).toBe(false);
    });
  }
});
