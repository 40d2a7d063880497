// Every command, in the order in which help shows them.

import type { Program } from "../define-command.ts";
import { addBackup } from "./backup.ts";
import { addCancel } from "./cancel.ts";
import { addCheck } from "./check.ts";
import { addDelete } from "./delete.ts";
import { addDev } from "./dev.ts";
import { addDoctor } from "./doctor.ts";
import { addFork } from "./fork.ts";
import { addGet } from "./get.ts";
import { addHistory } from "./history.ts";
import { addInit } from "./init.ts";
import { addKv } from "./kv.ts";
import { addList } from "./list.ts";
import { addMetrics } from "./metrics.ts";
import { addMigrate } from "./migrate.ts";
import { addPause } from "./pause.ts";
import { addPrune } from "./prune.ts";
import { addQueues } from "./queues.ts";
import { addRaise } from "./raise.ts";
import { addRestart } from "./restart.ts";
import { addResume } from "./resume.ts";
import { addRetry } from "./retry.ts";
import { addRuntimes } from "./runtimes.ts";
import { addStart } from "./start.ts";
import { addTerminate } from "./terminate.ts";
import { addUi } from "./ui.ts";
import { addUnblock } from "./unblock.ts";
import { addWatch } from "./watch.ts";
import { addWorker } from "./worker.ts";

type Add = (program: Program) => void;

const GROUPS: Readonly<Record<string, readonly Add[]>> = {
  "A project:": [addInit, addDev, addWorker, addUi],
  "Looking:": [addList, addGet, addHistory, addWatch, addKv, addQueues, addRuntimes, addMetrics],
  "Acting:": [addStart, addRaise, addCancel, addTerminate, addPause, addResume],
  "Repairing:": [addRetry, addUnblock, addRestart, addFork, addDelete, addPrune],
  "The store:": [addMigrate, addBackup, addCheck, addDoctor],
};

export function addCommands(program: Program): void {
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commander.commandsGroup(heading);
    for (const add of commands) add(program);
  }
}
