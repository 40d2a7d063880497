// Registers every command, in the order in which help lists them.

import type { Program } from "../define-command.ts";
import { addAsk } from "./change/ask.ts";
import { addBackup } from "./backup.ts";
import { addCancel, addPause, addResume, addTerminate, addUnblock } from "./change/control.ts";
import { addCheck } from "./check.ts";
import { addComplete } from "./change/complete.ts";
import { addDelete } from "./change/delete.ts";
import { addDev } from "./dev.ts";
import { addDoctor } from "./doctor.ts";
import { addEnqueue } from "./change/enqueue.ts";
import { addFork } from "./change/fork.ts";
import { addGet } from "./inspect/get.ts";
import { addHistory } from "./inspect/history.ts";
import { addInit } from "./init.ts";
import { addKept } from "./inspect/kept.ts";
import { addKv } from "./inspect/kv.ts";
import { addCounts } from "./inspect/counts.ts";
import { addList } from "./inspect/list.ts";
import { addMetrics } from "./inspect/metrics.ts";
import { addMigrate } from "./migrate.ts";
import { addPrune } from "./change/prune.ts";
import { addQueues } from "./inspect/queues.ts";
import { addRaise } from "./change/raise.ts";
import { addRewind } from "./change/rewind.ts";
import { addRestart } from "./change/restart.ts";
import { addRetry } from "./change/retry.ts";
import { addRuntimes } from "./inspect/runtimes.ts";
import { addStart } from "./change/start.ts";
import { addStream, addStreams } from "./inspect/streams.ts";
import { addTrim } from "./change/trim.ts";
import { addUi } from "./ui.ts";
import { addWatch } from "./inspect/watch.ts";
import { addWorker } from "./worker.ts";

type Add = (program: Program) => void;

const GROUPS: Readonly<Record<string, readonly Add[]>> = {
  "Project:": [addInit, addDev, addWorker, addUi],
  "Inspect:": [
    addList,
    addCounts,
    addGet,
    addHistory,
    addWatch,
    addKv,
    addStreams,
    addStream,
    addKept,
    addQueues,
    addRuntimes,
    addMetrics,
  ],
  "Control:": [
    addStart,
    addEnqueue,
    addRaise,
    addAsk,
    addComplete,
    addCancel,
    addTerminate,
    addPause,
    addResume,
  ],
  "Repair:": [addRetry, addUnblock, addRewind, addRestart, addFork, addDelete, addPrune, addTrim],
  "Store:": [addMigrate, addBackup, addCheck, addDoctor],
};

export function addCommands(program: Program): void {
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commander.commandsGroup(heading);
    for (const add of commands) add(program);
  }
}
