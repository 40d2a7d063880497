// Provider contract: the behavior that every provider must have, as test cases. The tests of one provider
// cover only its specifics: SQL, pragmas, pools. Run the contract from a Vitest file:
// `providerContract("mine", open, { offers: ["reopen"] })`.
//
//   open-provider.ts  what the caller passes in: a function that opens an empty store
//   contract-case.ts  the type of a case, and its registration with Vitest
//   setup.ts          a fresh store with two runtimes, and the first steps of most cases
//   fixture.ts        builders of commit items
//   instances/        starts, turns, history, cancel, pause, children, forks, rewinds
//   messages/         inbox, events, timers, request ids, notifications
//   tasks/            activity tasks, retries, sessions, queues
//   queues/           rules, pauses, limits, fair order and figures of queues
//   streams/          appends, resets, settled items, pages, trims
//   jobs/             starts of jobs under a key
//   leases/           leases of instances, fencing, liveness, suspects
//   stores/           group commit, transactions, listing, deletion, concurrency, corrupted rows
//
//   - Every case runs on a separate store and on virtual time.
//   - A case that needs more than `open` offers is left out.

import { describe } from "vitest";
import { appends } from "./streams/appends.ts";
import { answers } from "./messages/answers.ts";
import { askers } from "./messages/askers.ts";
import { asks } from "./messages/asks.ts";
import { bigIds } from "./stores/big-ids.ts";
import { blocked } from "./instances/blocked.ts";
import { callbacks } from "./messages/callbacks.ts";
import { cancel } from "./instances/cancel.ts";
import { children } from "./instances/children.ts";
import { concurrency } from "./stores/concurrency.ts";
import { continuing } from "./instances/continue-as-new.ts";
import { registerCases, type ContractOptions, type ContractSubject } from "./contract-case.ts";
import { corruptedRows } from "./stores/corrupted-rows.ts";
import { deferred } from "./tasks/deferred.ts";
import { debouncedStarts } from "./jobs/debounce.ts";
import { deletion } from "./stores/deletion.ts";
import { detached } from "./instances/detached.ts";
import { dispatches } from "./messages/dispatches.ts";
import { duplicates } from "./messages/duplicates.ts";
import { fencing } from "./leases/fencing.ts";
import { forks } from "./instances/forks.ts";
import { rewinds } from "./instances/rewinds.ts";
import { groupCommit } from "./stores/group-commit.ts";
import { history } from "./instances/history.ts";
import { heartbeats } from "./tasks/heartbeats.ts";
import { hostileStrings } from "./stores/hostile-strings.ts";
import { inboxOrder } from "./messages/inbox-order.ts";
import { earlyMessages } from "./messages/early-messages.ts";
import { keptMessages } from "./messages/kept-messages.ts";
import { keyRaces } from "./jobs/key-races.ts";
import { keyValueContract } from "./instances/key-values.ts";
import { leasesExpiry } from "./leases/leases-expiry.ts";
import { heldBackInstances } from "./leases/held-back.ts";
import { leasesInstances } from "./leases/leases-instances.ts";
import { listingFilters } from "./stores/listing-filters.ts";
import { listing } from "./stores/listing.ts";
import { search } from "./stores/search.ts";
import { liveness } from "./leases/liveness.ts";
import { lostAnswers } from "./stores/lost-answers.ts";
import { generatedRequestIds } from "./messages/generated-request-ids.ts";
import { metrics } from "./stores/metrics.ts";
import { multiExecution } from "./instances/multi-execution.ts";
import { notifications } from "./messages/notifications.ts";
import type { OpenProvider } from "./open-provider.ts";
import { pausing } from "./instances/pause.ts";
import { nextDue } from "./leases/next-due.ts";
import { peeking } from "./tasks/peek.ts";
import { pruning } from "./stores/pruning.ts";
import { fairOrder } from "./queues/fair-order.ts";
import { queueConcurrency, queueKeyLimits } from "./queues/queue-limits.ts";
import { queuePauses, queueRates } from "./queues/queue-rates.ts";
import { queueFigures } from "./queues/queue-figures.ts";
import { queueStates } from "./queues/queue-states.ts";
import { queues } from "./tasks/queues.ts";
import { ownIds } from "./messages/own-ids.ts";
import { requests } from "./messages/requests.ts";
import { conflicts } from "./instances/restart-and-conflicts.ts";
import { sends } from "./messages/sends.ts";
import { sessionLeases } from "./tasks/session-leases.ts";
import { sessionPreLeases } from "./tasks/session-pre-leases.ts";
import { sessions } from "./tasks/sessions.ts";
import { settling } from "./stores/settle.ts";
import { firstTurns } from "./instances/first-turns.ts";
import { startWithEvents } from "./instances/start-with-events.ts";
import { starting } from "./instances/starting.ts";
import { visibleState } from "./instances/state.ts";
import { stepOutcomes } from "./instances/step-outcomes.ts";
import { quarantine, suspicion } from "./leases/suspicion.ts";
import { streamReads, streamTrims } from "./streams/reads-and-trims.ts";
import { settledStreams, streamsOfTurns } from "./streams/turns-and-states.ts";
import { throttledStarts } from "./jobs/throttle.ts";
import { uniqueStarts } from "./jobs/unique.ts";
import { waitingSuccessors } from "./jobs/successor.ts";
import { bulkStarts } from "./jobs/bulk-starts.ts";
import { expiry } from "./jobs/expiry.ts";
import { unleasedEnds, unleasedStarts } from "./jobs/unleased-turns.ts";
import { sweeps } from "./stores/sweeps.ts";
import { taskRetry } from "./tasks/task-retry.ts";
import { taskSuspects } from "./tasks/task-suspects.ts";
import { taskTags } from "./tasks/task-tags.ts";
import { tasks } from "./tasks/tasks.ts";
import { sharedTransactions } from "./stores/transactions.ts";
import { terminate } from "./instances/terminate.ts";
import { timers } from "./messages/timers.ts";
import { turnAtomicity } from "./instances/turn-atomicity.ts";
import { unblock } from "./instances/unblock.ts";
import { waitingEvents } from "./messages/waiting-events.ts";
import { waiting } from "./messages/waiting.ts";

export {
  casesWith,
  registerCases,
  runCase,
  type ContractCase,
  type ContractOptions,
  type ContractSubject,
} from "./contract-case.ts";
export type {
  Need,
  OpenedProvider,
  OpenProvider,
  OpenTransaction,
  Tampering,
} from "./open-provider.ts";

/** Every case of the contract, by subject. */
export const contractSubjects: readonly ContractSubject[] = [
  starting,
  turnAtomicity,
  fencing,
  history,
  inboxOrder,
  waitingEvents,
  timers,
  tasks,
  taskRetry,
  taskSuspects,
  taskTags,
  sessions,
  sessionLeases,
  sessionPreLeases,
  heartbeats,
  leasesInstances,
  heldBackInstances,
  leasesExpiry,
  lostAnswers,
  liveness,
  sends,
  earlyMessages,
  keptMessages,
  startWithEvents,
  firstTurns,
  unleasedStarts,
  unleasedEnds,
  bulkStarts,
  expiry,
  callbacks,
  cancel,
  pausing,
  stepOutcomes,
  terminate,
  children,
  detached,
  continuing,
  conflicts,
  uniqueStarts,
  waitingSuccessors,
  debouncedStarts,
  throttledStarts,
  keyRaces,
  requests,
  generatedRequestIds,
  asks,
  answers,
  askers,
  dispatches,
  ownIds,
  blocked,
  unblock,
  quarantine,
  suspicion,
  visibleState,
  keyValueContract,
  appends,
  streamsOfTurns,
  settledStreams,
  streamReads,
  streamTrims,
  forks,
  rewinds,
  multiExecution,
  duplicates,
  corruptedRows,
  hostileStrings,
  bigIds,
  notifications,
  settling,
  groupCommit,
  concurrency,
  listing,
  listingFilters,
  search,
  deferred,
  deletion,
  sweeps,
  pruning,
  metrics,
  queues,
  queueStates,
  queueConcurrency,
  queueKeyLimits,
  queueRates,
  queuePauses,
  fairOrder,
  queueFigures,
  waiting,
  peeking,
  nextDue,
  sharedTransactions,
];

/** Registers the whole contract with Vitest. Every case opens a separate store. */
export function providerContract(
  name: string,
  open: OpenProvider,
  options: ContractOptions = {},
): void {
  describe(`${name} keeps the provider contract`, () => {
    for (const subject of contractSubjects) registerCases(subject, open, options);
  });
}
