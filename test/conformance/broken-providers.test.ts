// The suite is only worth what it catches: each provider here breaks one promise, and a case that is named
// must fail on it. Those that nothing breaks must pass.

import { describe, expect, test } from "vitest";
import {
  casesWith,
  contractSubjects,
  runCase,
  type OpenProvider,
} from "../../src/testing/conformance/index.ts";
import {
  changingItems,
  changingMessages,
  changingTurns,
  dropsNeighboursOfRefused,
  filtersNamesAfterLimit,
  forgetsLostAnswers,
  ignoresLastEvent,
  ignoresTokens,
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
  tellsBeforeItWrites,
  type Breakage,
} from "./broken-provider.ts";
import { IN_MEMORY, openInMemory } from "./sqlite-store.ts";

/** The cases that fail, as `subject: title`; of one subject, or of all. */
async function failures(open: OpenProvider, only?: string): Promise<string[]> {
  const failed: string[] = [];
  for (const subject of contractSubjects) {
    if (only !== undefined && subject.subject !== only) continue;
    for (const contractCase of casesWith(subject, IN_MEMORY)) {
      const title = `${subject.subject}: ${contractCase.title}`;
      await runCase(contractCase, open).catch(() => failed.push(title));
    }
  }
  return failed;
}

const BREAKAGES: readonly { what: string; breakage: Breakage; caughtBy: string }[] = [
  {
    what: "ignores the token of a turn",
    breakage: ignoresTokens,
    caughtBy: "fencing: a turn under another token is refused",
  },
  {
    what: "ignores the last event of a turn without events",
    breakage: ignoresLastEvent,
    caughtBy: "fencing: a turn without events is held to its last event too",
  },
  {
    what: "drops the neighbours of a refused item",
    breakage: dropsNeighboursOfRefused,
    caughtBy: "group commit: one refused item among many takes no neighbour with it (C1)",
  },
  {
    what: "leaves traces of a refused turn",
    breakage: leavesTracesOfRefusedTurns,
    caughtBy: "turn atomicity: a refused turn leaves no trace, whatever it asked for (I1, I2)",
  },
  {
    what: "hands out messages in the wrong order",
    breakage: changingMessages((messages) => messages.toReversed()),
    caughtBy: "inbox order: events are handed over in the order in which they were sent (P7)",
  },
  {
    what: "fires timers a millisecond early",
    breakage: changingTurns((turn) => ({
      ...turn,
      timers: turn.timers.map((timer) =>
        timer.delayMs === undefined ? timer : { ...timer, delayMs: timer.delayMs - 1 },
      ),
    })),
    caughtBy: "timers: a timer does not fire a millisecond early, and fires when it is due (P5)",
  },
  {
    what: "counts a timer's milliseconds in 32 bits",
    breakage: changingTurns((turn) => ({
      ...turn,
      timers: turn.timers.map((timer) =>
        timer.delayMs === undefined ? timer : { ...timer, delayMs: timer.delayMs | 0 },
      ),
    })),
    caughtBy: "timers: a timer beyond 2^31 ms fires when it is due and not before (P5)",
  },
  {
    what: "loses the suspect flag of a task",
    breakage: losesSuspectFlag,
    caughtBy: "task suspects: a suspect is not handed out unless one is asked for",
  },
  {
    what: "counts the death of a thread as a failure",
    breakage: changingItems((item) => {
      if (item.kind !== "retry") return item;
      const { died: _, ...retry } = item;
      return retry;
    }),
    caughtBy:
      "task suspects: an attempt that died with what ran it counts a death of this task alone (K4)",
  },
  {
    what: "mixes progress with details",
    breakage: mixesProgressWithDetails,
    caughtBy: "heartbeats: details and progress are told apart: neither takes the other's place",
  },
  {
    what: "loses the suspicion against an instance",
    breakage: losesSuspicion,
    caughtBy: "suspicion: each cold lease that no commit followed is counted by the next one (9a)",
  },
  {
    what: "leases what another runtime holds",
    breakage: leasesWhatOthersHold,
    caughtBy: "instance leases: an instance is leased to one runtime at a time",
  },
  {
    what: "takes a request that is made again for a new one",
    breakage: forgetsLostAnswers,
    caughtBy:
      "lost answers: a lease of instances that is asked for again hands over the same, as fresh",
  },
  {
    what: "filters names after the limit",
    breakage: filtersNamesAfterLimit,
    caughtBy:
      "tasks: names are filtered before the limit, so that a foreign task starves no other (K3)",
  },
  {
    what: "forgets request ids",
    breakage: changingItems((item, real) => {
      if (item.kind !== "send") return item;
      return { ...item, requestId: real.environment.randomHex(16) };
    }),
    caughtBy:
      "sends: a send that is repeated under its request id is stored once and done twice (B3)",
  },
  {
    what: "remembers made-up request ids for ever",
    breakage: changingItems((item) =>
      item.kind === "send" ? { ...item, requestId: `chosen-${item.requestId}` } : item,
    ),
    caughtBy:
      "made-up request ids: one that is older than six hours is forgotten when its instance continues as new",
  },
  {
    what: "takes the request ids that callers chose for made-up ones",
    breakage: changingItems((item) =>
      item.kind === "send" ? { ...item, requestId: `perdure.000000000-${item.requestId}` } : item,
    ),
    caughtBy:
      "made-up request ids: an id that a caller chose is remembered, however often its instance continues as new",
  },
  {
    what: "leaves a message that a turn consumed",
    breakage: changingTurns((turn) => ({ ...turn, consumed: turn.consumed.slice(1) })),
    caughtBy: "turn atomicity: a turn consumes the messages it names and no other (B1)",
  },
  {
    what: "leaves the rows of finished tasks",
    breakage: changingTurns((turn) => ({ ...turn, finished: [] })),
    caughtBy: "turn atomicity: a turn takes the rows of the tasks it finishes with it",
  },
  {
    what: "loses what is unread when an instance continues as new",
    breakage: changingTurns((turn) =>
      turn.change.kind === "continued" ? { ...turn, change: { ...turn.change, unread: [] } } : turn,
    ),
    caughtBy: "continue as new: unread messages are put back in order, behind the start (18a)",
  },
  {
    what: "forgets that steps are open",
    breakage: changingTurns((turn) => ({ ...turn, stepsOpen: false })),
    caughtBy:
      "liveness: an instance whose owner died with steps open is woken for whoever takes over (V3)",
  },
  {
    what: "abandons every child",
    breakage: changingTurns((turn) => ({
      ...turn,
      starts: turn.starts.map((start) => ({ ...start, onParentClose: "abandon" })),
    })),
    caughtBy:
      "terminate: its children are asked to cancel, those that are abandoned excepted (19a)",
  },
  {
    what: "tells of a commit before it is written",
    breakage: tellsBeforeItWrites,
    caughtBy: "notifications: whoever hears the news finds its cause written (W1, I13)",
  },
  {
    what: "takes a pause for a lost lease",
    breakage: takesPausesForLostLeases,
    caughtBy:
      "pause: a turn of a paused instance is refused as such, and its lease still holds (19a)",
  },
  {
    what: "forgets the key-values of a turn",
    breakage: changingTurns((turn) => ({
      ...turn,
      state: turn.state && { ...turn.state, keyValues: turn.state.keyValues.slice(0, 1) },
    })),
    caughtBy:
      "key-values: key-values are changed in the order given: set, overwritten, deleted, cleared",
  },
  {
    what: "never clears a status",
    breakage: changingTurns((turn) =>
      turn.state?.status?.value === null
        ? { ...turn, state: { ...turn.state, status: null } }
        : turn,
    ),
    caughtBy: "visible state: every commit that sets the status raises its version by one (ST2)",
  },
  {
    what: "keeps no message for an id that does not exist",
    breakage: changingItems((item) =>
      item.kind === "send" ? { ...item, ifMissing: "fail" } : item,
    ),
    caughtBy:
      "kept messages: an event that is to be kept waits for the start of its instance, and makes none",
  },
  {
    what: "loses the events that come with a start",
    breakage: changingItems((item) => (item.kind === "start" ? { ...item, events: [] } : item)),
    caughtBy: "start with events: they are handed over with the start to whoever leases it",
  },
  {
    what: "pages by offset",
    breakage: pagesByOffset,
    caughtBy: "listing: what is created meanwhile neither repeats nor hides what was there (AD2)",
  },
  {
    what: "leaves the children of what it deletes",
    breakage: orphansDescendants,
    caughtBy: "deletion: a tree is deleted whole, from the root down, and others are left alone",
  },
  {
    what: "prunes regardless of how many are to stay",
    breakage: prunesRegardlessOfNumber,
    caughtBy: "pruning: the newest ones that are to stay include the current one",
  },
  {
    what: "overlooks due instances when it peeks",
    breakage: overlooksInstances,
    caughtBy: "peek: a start that nobody holds is due, whatever its name",
  },
  {
    what: "settles nothing",
    breakage: settlesNothing,
    caughtBy: "settle: a turn that was written settles as committed, with what is due now",
  },
  {
    what: "refuses a turn for its lease's expiry alone",
    breakage: letsExpiryDecide,
    caughtBy:
      "fencing: a lease that ran out and that nobody took still writes: expiry decides nothing (I2)",
  },
];

describe("the provider contract", () => {
  test("finds a wrapper that changes nothing no worse than what it wraps", async () => {
    const real = await failures(openInMemory);
    expect(await failures(openBroken(openInMemory, () => ({})))).toEqual(real);
  });

  test("has no two cases of one title in a subject", () => {
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
      const [subject] = caughtBy.split(": ");
      expect(await failures(openInMemory, subject)).not.toContain(caughtBy);
      expect(await failures(openBroken(openInMemory, breakage), subject)).toContain(caughtBy);
    });
  }
});
