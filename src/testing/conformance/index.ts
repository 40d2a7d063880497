// The contract every provider keeps, as tests. A provider's own tests hold only what is its own: SQL,
// pragmas, pools. Run it from a Vitest file: `providerContract("mine", open, { offers: ["reopen"] })`.

import { describe } from "vitest";
import { bigIds } from "./big-ids.ts";
import { blocked } from "./blocked.ts";
import { cancel } from "./cancel.ts";
import { children } from "./children.ts";
import { concurrency } from "./concurrency.ts";
import { continuing } from "./continue-as-new.ts";
import { registerCases, type ContractOptions, type ContractSubject } from "./contract-case.ts";
import { corruptedRows } from "./corrupted-rows.ts";
import { deletion } from "./deletion.ts";
import { detached } from "./detached.ts";
import { duplicates } from "./duplicates.ts";
import { exactEnds } from "./exact-ends.ts";
import { fencing } from "./fencing.ts";
import { forks } from "./forks.ts";
import { groupCommit } from "./group-commit.ts";
import { history } from "./history.ts";
import { heartbeats } from "./heartbeats.ts";
import { hostileStrings } from "./hostile-strings.ts";
import { inboxOrder } from "./inbox-order.ts";
import { keptMessages } from "./kept-messages.ts";
import { keyValueContract } from "./key-values.ts";
import { leasesExpiry } from "./leases-expiry.ts";
import { leasesInstances } from "./leases-instances.ts";
import { listingFilters } from "./listing-filters.ts";
import { listing } from "./listing.ts";
import { liveness } from "./liveness.ts";
import { lostAnswers } from "./lost-answers.ts";
import { madeUpRequests } from "./made-up-requests.ts";
import { metrics } from "./metrics.ts";
import { multiExecution } from "./multi-execution.ts";
import { notifications } from "./notifications.ts";
import type { OpenProvider } from "./open-provider.ts";
import { pausing } from "./pause.ts";
import { peeking } from "./peek.ts";
import { pruning } from "./pruning.ts";
import { queues } from "./queues.ts";
import { requests } from "./requests.ts";
import { conflicts } from "./restart-and-conflicts.ts";
import { sends } from "./sends.ts";
import { sessionLeases } from "./session-leases.ts";
import { sessions } from "./sessions.ts";
import { settling } from "./settle.ts";
import { startWithEvents } from "./start-with-events.ts";
import { starting } from "./starting.ts";
import { visibleState } from "./state.ts";
import { stepOutcomes } from "./step-outcomes.ts";
import { quarantine, suspicion } from "./suspicion.ts";
import { sweeps } from "./sweeps.ts";
import { taskRetry } from "./task-retry.ts";
import { taskSuspects } from "./task-suspects.ts";
import { taskTags } from "./task-tags.ts";
import { tasks } from "./tasks.ts";
import { sharedTransactions } from "./transactions.ts";
import { terminate } from "./terminate.ts";
import { timers } from "./timers.ts";
import { turnAtomicity } from "./turn-atomicity.ts";
import { unblock } from "./unblock.ts";
import { waitingEvents } from "./waiting-events.ts";
import { waiting } from "./waiting.ts";

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
  heartbeats,
  leasesInstances,
  leasesExpiry,
  exactEnds,
  lostAnswers,
  liveness,
  sends,
  keptMessages,
  startWithEvents,
  cancel,
  pausing,
  stepOutcomes,
  terminate,
  children,
  detached,
  continuing,
  conflicts,
  requests,
  madeUpRequests,
  blocked,
  unblock,
  quarantine,
  suspicion,
  visibleState,
  keyValueContract,
  forks,
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
  deletion,
  sweeps,
  pruning,
  metrics,
  queues,
  waiting,
  peeking,
  sharedTransactions,
];

/** Registers the whole contract with Vitest. Every case opens a store of its own. */
export function providerContract(
  name: string,
  open: OpenProvider,
  options: ContractOptions = {},
): void {
  describe(`${name} keeps the provider contract`, () => {
    for (const subject of contractSubjects) registerCases(subject, open, options);
  });
}
