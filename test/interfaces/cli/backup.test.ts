// perdure backup: a copy of a live store that is complete and checked before it gets its final name.

import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runProgram } from "../../../src/cli/program.ts";
import { Screen } from "../../../src/cli/text/screen.ts";
import { activity, event, orchestration, Perdure } from "../../../src/index.ts";
import { Project } from "./support.ts";

const go = event("go");
const LARGE = "x".repeat(200_000);

function definitions() {
  const size = activity("size", async (text: string) => text.length);
  const measure = orchestration("measure", async (ctx, text: string) => {
    const length = await ctx.run(size, text);
    await ctx.waitFor(go);
    return length;
  });
  return { measure, register: [measure, size] };
}

async function opened(file: string, register: ReturnType<typeof definitions>["register"]) {
  const perdure = await Perdure.open(`sqlite:${file}`, {
    register,
    runtime: { beatMs: 50, staleMs: 200, pollIntervalMs: 100, log: () => undefined },
  });
  onTestFinished(() => perdure.close());
  return perdure;
}

/** A store with tables, and that many large inputs. */
async function filled(project: Project, count: number): Promise<void> {
  const perdure = await Perdure.open(`sqlite:${project.file}`, { autoStart: false });
  for (let n = 0; n < count; n += 1) {
    await perdure.client.start("measure", LARGE, { id: `large-${n}` });
  }
  await perdure.close();
}

describe("a store under load", () => {
  test("is copied while instances start; the copy passes doctor and its instances finish", async () => {
    const project = new Project();
    await filled(project, 60);
    const { measure, register } = definitions();
    const original = await opened(project.file, register);
    let isOver = false;
    let started = 0;
    const load = (async () => {
      for (; !isOver; started += 1) {
        await original.client.start(measure, "abc", { id: `i-${started}` });
        await pause(10);
      }
    })();
    const file = join(project.folder, "copy.db");
    const ran = await project.run(["backup", file, "--json"]);
    const during = started;
    isOver = true;
    await load;
    await original.close();
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.json()).toMatchObject({
      store: `sqlite:${project.file}`,
      file,
      bytes: statSync(file).size,
      ok: true,
      findings: [{ check: "integrity" }, { check: "checksums" }],
    });
    expect(during).toBeGreaterThan(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(project.folder).filter((name) => name.startsWith("copy"))).toEqual([
      "copy.db",
    ]);

    const second = definitions();
    const restored = await opened(file, second.register);
    const { items } = await restored.client.list({}, { limit: 1_000 });
    expect(items.length).toBeGreaterThanOrEqual(60);
    for (const { id } of items) await restored.client.get(second.measure, id).raise(go);
    for (const { id } of items) {
      const length = id.startsWith("large-") ? LARGE.length : 3;
      expect(await restored.client.get(second.measure, id).result()).toBe(length);
    }
    await restored.close();
    const doctor = await project.run(["doctor", `sqlite:${file}`, "--thorough"], {
      env: { PERDURE_STORE: "" },
    });
    expect(doctor.code, doctor.stdout).toBe(0);
  });
});

describe("the backup file", () => {
  test("is printed with its size, with plain lines about the progress", async () => {
    const project = new Project();
    await project.run("migrate");
    const ran = await project.run(["backup", `sqlite:${project.file}`, "copy.db"]);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stdout).toMatch(/^✓ .*copy\.db \(\d+\.\d MiB\)\n$/);
    expect(ran.stderr).toMatch(/^copying \d+\.\d MiB\nchecking the copy\n$/);
  });

  test.each(["copy.db", "copy.db-wal", "copy.db-journal", "copy.db.partial"])(
    "is refused if %s exists, and that file does not change",
    async (taken) => {
      const project = new Project();
      await project.run("migrate");
      project.write(taken, "mine");
      const before = readdirSync(project.folder).toSorted();
      const ran = await project.run("backup copy.db --json");
      expect(ran.code).toBe(4);
      expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: "FILE_EXISTS" } });
      expect(statSync(join(project.folder, taken)).size).toBe(4);
      const sidecars = /^store\.db-/; // created by a reader of the store
      expect(
        readdirSync(project.folder)
          .filter((name) => !sidecars.test(name))
          .toSorted(),
      ).toEqual(before.filter((name) => !sidecars.test(name)));
    },
  );

  test("that cannot be written fails with a code", async () => {
    const project = new Project();
    await project.run("migrate");
    const ran = await project.run("backup nowhere/copy.db --json");
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: "FILE_UNWRITABLE" } });
  });

  test("is removed on a signal", async () => {
    const project = new Project();
    await filled(project, 40);
    vi.stubEnv("PERDURE_SUPERVISED", undefined);
    let stderr = "";
    const write = (text: string): void => {
      stderr += text;
      if (!text.includes("copying")) return;
      expect(existsSync(join(project.folder, "copy.db.partial"))).toBe(true);
      process.emit("SIGINT");
    };
    const screen = new Screen({ isTTY: false, write }, {});
    const code = await runProgram(
      {
        out: screen,
        err: screen,
        stdin: Readable.from([]) as unknown as NodeJS.ReadStream, // nothing reads it
        env: {},
        cwd: project.folder,
      },
      ["backup", `sqlite:${project.file}`, "copy.db"],
    );
    vi.unstubAllEnvs();
    expect(code).toBe(130);
    expect(stderr).toContain("interrupted; no backup was written");
    expect(readdirSync(project.folder).filter((name) => name.startsWith("copy"))).toEqual([]);
  });
});

describe("the store to back up", () => {
  test.each([
    ["postgres://user:secret@host/db copy.db", /pg_dump.*base backups/],
    ["sqlite::memory: copy.db", /Only a SQLite file can be backed up; got sqlite::memory:/],
    ["sqlite:a.db", /must be the path of a new file/],
    ["sqlite:a.db sqlite:b.db", /must be the path of a new file.*got "sqlite:b\.db"/],
  ])("perdure backup %s is a usage error", async (line, said) => {
    const project = new Project();
    const ran = await project.run(`backup ${line}`);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(said);
    expect(ran.stderr).not.toContain("secret");
  });

  test("must exist, and must have tables", async () => {
    const project = new Project();
    expect(await project.run("backup copy.db")).toMatchObject({ code: 5 });
    writeFileSync(project.file, "");
    const empty = await project.run("backup copy.db --json");
    expect(empty.code).toBe(5);
    expect(JSON.parse(empty.stderr)).toMatchObject({ error: { code: "STORE_INVALID" } });
    expect(existsSync(join(project.folder, "copy.db"))).toBe(false);
  });

  test("with a damaged row is copied, and the exit code reports the damage", async () => {
    const project = new Project();
    await filled(project, 1);
    const database = new DatabaseSync(project.file);
    database.exec("UPDATE inbox SET data = replace(data, 'xxx', 'xyx')");
    database.close();
    const ran = await project.run("backup copy.db --json");
    expect(ran.code).toBe(8);
    expect(ran.json()).toMatchObject({
      ok: false,
      file: join(project.folder, "copy.db"),
      findings: [
        { check: "integrity", level: "ok" },
        { check: "checksums", level: "problem" },
      ],
    });
    expect(existsSync(join(project.folder, "copy.db"))).toBe(true);
  });

  test("with damaged pages yields no copy", async () => {
    const project = new Project();
    await filled(project, 10);
    const { size } = statSync(project.file);
    const handle = openSync(project.file, "r+");
    writeSync(handle, Buffer.alloc(40_960, 0xff), 0, 40_960, Math.floor(size / 8_192) * 4_096);
    closeSync(handle);
    const ran = await project.run("backup copy.db");
    expect(ran.code).toBe(8);
    expect(ran.stdout).toMatch(/✗ the file is damaged\n[^]*no backup was written\n$/);
    expect(readdirSync(project.folder).filter((name) => name.startsWith("copy"))).toEqual([]);
  });

  test("of an older schema is copied", async () => {
    const project = new Project();
    await filled(project, 1);
    const database = new DatabaseSync(project.file);
    database.exec("UPDATE meta SET value = value - 1 WHERE name = 'schema_version'");
    database.close();
    const ran = await project.run("backup copy.db");
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stdout).toMatch(/! row checksums were not verified: .* schema version/);
    expect(existsSync(join(project.folder, "copy.db"))).toBe(true);
  });
});
