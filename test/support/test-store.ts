// Which store the tests of this run are on, and places to open one in.
//   TS1. The same test files run on every store: Vitest's project "postgres" sets PERDURE_TEST_STORE.
//   TS2. What only holds of one store stands in a describe of `onlyOn`, with the reason. There is nothing to skip:
//        on another store the tests in it are not made.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { describe, onTestFinished } from "vitest";
import type { Environment } from "../../src/core/environment.ts";
import type { Provider } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { postgres } from "./postgres.ts";
import {
  copySchema,
  giveBackSchema,
  openOnPool,
  restoreSchema,
  takeSchema,
} from "./postgres-stores.ts";
import { StoreEnvironment } from "./store-environment.ts";

export type StoreKind = "sqlite" | "postgres";

/** Tests of several processes share the server's connections. */
const CONNECTIONS_MAX = 4;

export const TEST_STORE: StoreKind = chosenStore();

/** Where one store is; opened a second time it is the same store, if it is not in memory. */
export interface Place {
  open(environment?: Environment): Promise<Provider>;
  /** What the store's own means of backup make of it, while others use it. */
  backUp(): Promise<Place>;
  /** Replaces what it holds by what that backup of it holds, while others use it: later commits are lost. */
  goBackTo(backup: Place): Promise<void>;
  /** Its file or schema. */
  readonly location: string;
  /** After every provider of it was closed. */
  remove(): Promise<void>;
}

/** A place with nothing in it. "memory": nobody opens it twice, and no disk need set the pace. */
export function newPlace(kind: "memory" | "file"): Place {
  if (TEST_STORE === "postgres") return inPostgres(kind);
  return kind === "memory" ? inMemory() : inFile();
}

/** A store with nothing in it, gone with the test. */
export async function freshStore(environment?: Environment): Promise<Provider> {
  const place = newPlace("memory");
  onTestFinished(() => place.remove());
  const provider = await place.open(environment);
  onTestFinished(() => provider.close());
  return provider;
}

/** Tests that only hold of one store, and why. */
export function onlyOn(kind: StoreKind, why: string, tests: () => void): void {
  if (TEST_STORE === kind) describe(`only on ${kind}: ${why}`, tests);
}

function inMemory(): Place {
  return {
    open: (environment) => openFile(":memory:", environment),
    backUp: () => Promise.reject(new Error("a store in memory is backed up by nobody")),
    goBackTo: () => Promise.reject(new Error("a store in memory has no backup")),
    location: ":memory:",
    remove: async () => undefined,
  };
}

function inFile(): Place {
  return inFolder(mkdtempSync(join(tmpdir(), "perdure-store-")));
}

function inFolder(folder: string): Place {
  const file = join(folder, "store.db");
  return {
    open: (environment) => openFile(file, environment),
    async backUp() {
      const copy = mkdtempSync(join(tmpdir(), "perdure-backup-"));
      const source = new DatabaseSync(file, { readOnly: true });
      await backup(source, join(copy, "store.db"));
      source.close();
      return inFolder(copy);
    },
    async goBackTo({ location }) {
      const database = new DatabaseSync(file);
      database.exec(`ATTACH '${location}' AS backup`);
      const tables = database.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'");
      const steps = tables.all().map(({ name }) => {
        const table = String(name);
        return `DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM backup.${table};`;
      });
      database.exec(["BEGIN IMMEDIATE;", ...steps, "COMMIT"].join(" "));
      database.close();
    },
    location: file,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

function openFile(path: string, environment: Environment | undefined): Promise<Provider> {
  return SqliteProvider.open(path, environment === undefined ? {} : { environment });
}

/** "file" is opened as users do it: with connections of its own, and threads that have theirs. */
function inPostgres(kind: "memory" | "file", schema = takeSchema()): Place {
  return {
    async open(environment) {
      if (environment === undefined) {
        if (kind === "memory") return openOnPool(schema);
        const { url } = await postgres();
        return PostgresProvider.open(url, { schema, poolSize: CONNECTIONS_MAX });
      }
      // Whoever shares virtual time shares the provider: there is nobody else to be told.
      const virtual = { environment, notifications: false, prepare: true };
      const provider = await openOnPool(schema, virtual);
      return environment instanceof StoreEnvironment ? environment.watch(provider) : provider;
    },
    backUp: async () => inPostgres(kind, await copySchema(schema)),
    goBackTo: (backup) => restoreSchema(schema, backup.location),
    location: schema,
    remove: () => giveBackSchema(schema),
  };
}

function chosenStore(): StoreKind {
  const name = process.env["PERDURE_TEST_STORE"] ?? "sqlite";
  if (name === "sqlite" || name === "postgres") return name;
  throw new Error(`PERDURE_TEST_STORE is "${name}"; there is sqlite and postgres.`);
}
