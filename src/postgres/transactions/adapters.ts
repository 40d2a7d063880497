// Adapters: turn transactions of other libraries into something that runs a statement.
//   - Adapters look only at the shape of an object: no library is imported, and none has to be installed.
//   - They call only methods that the library documents for raw statements.

/**
 * An open transaction of your own: an object that runs statements in it, on one connection. A client of `pg`
 * works directly. So does any object with this method, for example for postgres.js `{ query: async (text,
 * values) => ({ rows: await sql.unsafe(text, values) }) }`. Values are strings or null; parameters are
 * written `$1`, `$2`, ….
 */
export interface PostgresTransaction {
  query(text: string, values: (string | null)[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The part of a Drizzle transaction that Perdure uses. */
export interface DrizzleTransaction<Query> {
  execute(query: Query): PromiseLike<unknown>;
}

/** The part of a Kysely transaction that Perdure uses. */
export interface KyselyTransaction {
  withoutPlugins(): {
    executeQuery(query: {
      readonly sql: string;
      readonly parameters: readonly unknown[];
      readonly query: RawQuery;
      readonly queryId: { readonly queryId: string };
    }): Promise<{ readonly rows: readonly unknown[] }>;
  };
}
interface RawQuery {
  readonly kind: "RawNode";
  readonly sqlFragments: readonly string[];
  readonly parameters: readonly never[];
}

/** The part of Prisma's interactive transaction client that Perdure uses. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/**
 * Adapts a Drizzle transaction, on any PostgreSQL driver of Drizzle: `db.transaction((tx) => client.start(o,
 * input, { tx: fromDrizzle(tx, sql) }))`. `sql` is Drizzle's `sql` tag, which binds the values.
 */
export function fromDrizzle<Query>(
  tx: DrizzleTransaction<Query>,
  sql: (strings: TemplateStringsArray, ...values: unknown[]) => Query,
): PostgresTransaction {
  return {
    async query(text, values) {
      const { strings, indexes } = splitAtParameters(text);
      const template = Object.assign([...strings], { raw: strings });
      const query = sql(template, ...indexes.map((index) => values[index]));
      return { rows: rowsOf(await tx.execute(query)) };
    },
  };
}

/**
 * Adapts a Kysely transaction: `db.transaction().execute((trx) => client.start(o, input, { tx:
 * fromKysely(trx) }))`.
 */
export function fromKysely(trx: KyselyTransaction): PostgresTransaction {
  let count = 0;
  return {
    query(text, values) {
      const query = { kind: "RawNode", sqlFragments: [text], parameters: [] } as const;
      const queryId = { queryId: `perdure-${++count}` };
      // Plugins could rename the columns.
      return trx.withoutPlugins().executeQuery({ sql: text, parameters: values, query, queryId });
    },
  };
}

/**
 * Adapts an interactive Prisma transaction: `prisma.$transaction((tx) => client.start(o, input, { tx:
 * fromPrisma(tx) }))`.
 */
export function fromPrisma(tx: PrismaTransaction): PostgresTransaction {
  return {
    async query(text, values) {
      return { rows: rowsOf(await tx.$queryRawUnsafe(text, ...values)) };
    },
  };
}

/**
 * A pool of one client for a library's dialect. The client belongs to Perdure; the pool never opens or closes
 * it.
 */
export interface LentPool<Client> {
  connect(): Promise<Client & { release(): void }>;
  end(): Promise<void>;
  readonly options: object;
}

/**
 * Presents the transaction of `ctx.tx` as a pool, for libraries that need one: `new Kysely({ dialect: new
 * PostgresDialect({ pool: asPool(tx) }) })`. Do not begin or end a transaction on it: one is already open.
 */
export function asPool<Client extends object>(tx: Client): LentPool<Client> {
  const client = new Proxy(tx, {
    get(target, property): unknown {
      if (property === "release") return (): void => undefined;
      return Reflect.get(target, property, target);
    },
  }) as Client & { release(): void }; // the proxy adds `release`
  return { connect: async () => client, end: async () => undefined, options: {} };
}

/** Splits a statement at `$1`, `$2`, …: the texts between them, and the index of the value for each. */
function splitAtParameters(text: string): {
  readonly strings: readonly string[];
  readonly indexes: number[];
} {
  const parts = text.split(/\$(\d+)/);
  return {
    strings: parts.filter((_, index) => index % 2 === 0),
    indexes: parts.filter((_, index) => index % 2 === 1).map((index) => Number(index) - 1),
  };
}

/** Drivers return an array of rows, or an object that has one. */
function rowsOf(result: unknown): readonly unknown[] {
  if (Array.isArray(result)) return result;
  if (typeof result === "object" && result !== null && "rows" in result) {
    if (Array.isArray(result.rows)) return result.rows;
  }
  return [];
}
