// perdure/otel without its optional peer dependency.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

test("importing perdure/otel without @opentelemetry/api names the package to install", async () => {
  const hide = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier !== "@opentelemetry/api") return next(specifier, context);
        throw Object.assign(new Error("Cannot find it"), { code: "MODULE_NOT_FOUND" });
      },
    });
    await import("./src/telemetry/index.ts").catch(({ code, message }) => console.log(code, message));
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", hide], {
    cwd: projectRoot,
  });
  expect(stdout.trim()).toBe(
    "INVALID_ARGUMENT perdure/otel requires the package @opentelemetry/api; run: npm install @opentelemetry/api",
  );
});
