// The store that the tests of this run use, and places where a store can be opened.
//   - The same test files run on every store: Vitest's project "postgres" sets PERDURE_TEST_STORE.
//   - Tests for one store only are in `onlyOn`, with the reason. They are not skipped on another store: they are not
//        defined there.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { describe, onTestFinished } from "vitest";
import type { Environment } from "../../src/core/time/environment.ts";
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

/** Several test processes share the connections of the server. */
const CONNECTIONS_MAX = 4;

export const TEST_STORE: StoreKind = chosenStore();

/** The location of one store. Opening it again opens the same store, unless it is in memory. */
export interface Place {
  open(environment?: Environment): Promise<Provider>;
  /** A copy made by the backup function of the database, while the store is in use. */
  backUp(): Promise<Place>;
  /** Replaces the contents by those of the backup, while the store is in use: later commits are lost. */
  goBackTo(backup: Place): Promise<void>;
  /** Its file or schema. */
  readonly location: string;
  /** Must be called after all its providers are closed. */
  remove(): Promise<void>;
}

/** An empty place. "memory" is opened only once and needs no disk. */
export function newPlace(kind: "memory" | "file"): Place {
  if (TEST_STORE === "postgres") return inPostgres(kind);
  return kind === "memory" ? inMemory() : inFile();
}

/** An empty store that is removed after the test. */
export async function freshStore(environment?: Environment): Promise<Provider> {
  const place = newPlace("memory");
  onTestFinished(() => place.remove());
  const provider = await place.open(environment);
  onTestFinished(() => provider.close());
  return provider;
}

/** A number for tests that take long on a store behind a socket. With PERDURE_FULL every store gets SQLite's number. */
export function sizeOn(sizes: Readonly<Record<StoreKind, number>>): number {
  return process.env["PERDURE_FULL"] === "1" ? sizes.sqlite : sizes[TEST_STORE];
}

/** Tests for one store only, with the reason. */
export function onlyOn(kind: StoreKind, why: string, tests: () => void): void {
  if (TEST_STORE === kind) describe(`only on ${kind}: ${why}`, tests);
}

function inMemory(): Place {
  return {
    open: (environment) => openFile(":memory:", environment),
    backUp: () => Promise.reject(new Error("a store in memory cannot be backed up")),
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

/** "file" is opened as by users: with its own connections, and with a connection per thread. */
function inPostgres(kind: "memory" | "file", schema = takeSchema()): Place {
  return {
    async open(environment) {
      if (environment === undefined) {
        if (kind === "memory") return openOnPool(schema);
        const { url } = await postgres();
        return PostgresProvider.open(url, { schema, poolSize: CONNECTIONS_MAX });
      }
      // Tests with virtual time use one provider, so notifications are not needed.
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
  throw new Error(`PERDURE_TEST_STORE is "${name}"; it must be sqlite or postgres.`);
}
