// A short list of rules that find bugs. Layout is Prettier's; layers are test/architecture.test.ts's.

import { defineConfig } from "eslint/config";
import { createNodeResolver, importX } from "eslint-plugin-import-x";
import tseslint from "typescript-eslint";
import perdure from "./src/eslint-plugin/index.ts";

export default defineConfig(
  {
    ignores: [
      "**/dist/",
      "**/node_modules/",
      "coverage/",
      "bench/peers/adapters/",
      "scripts/mutation/stryker/",
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    rules: {
      eqeqeq: ["error", "always"],
      "prefer-const": "error",
    },
  },
  {
    files: ["**/*.ts", "**/*.tsx"],
    plugins: { "@typescript-eslint": tseslint.plugin, "import-x": importX },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    settings: {
      // Without these two the plugin neither parses nor follows a `.ts` file, and finds no cycle.
      "import-x/extensions": [".ts", ".tsx"],
      "import-x/parsers": { "@typescript-eslint/parser": [".ts", ".tsx"] },
      "import-x/resolver-next": [createNodeResolver({ extensions: [".ts", ".tsx", ".js"] })],
    },
    rules: {
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrorsIgnorePattern: "^_" },
      ],
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "import-x/no-cycle": "error",
    },
  },
  {
    // What users store is text on every page: nothing that would make markup or code of it is written here (S14).
    files: ["ui/**/*.ts", "ui/**/*.tsx"],
    rules: {
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "Identifier[name=/^(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|srcdoc|srcDoc)$/]",
          message: "Text goes into the page as text.",
        },
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Text goes into the page as text.",
        },
        {
          selector: "MemberExpression[object.name='document'][property.name=/^write(ln)?$/]",
          message: "Text goes into the page as text.",
        },
      ],
    },
  },
  {
    // What users read as examples keeps the rules that we give them.
    files: ["demo/**/*.ts", "examples/**/*.ts"],
    extends: [perdure.configs.recommended],
    settings: { perdure: { modules: ["../src/index.ts", "../../src/index.ts"] } },
  },
  {
    // Tests throw what user code might throw.
    files: ["**/*.test.ts", "test/**/*.ts", "src/testing/conformance/**/*.ts"],
    rules: { "@typescript-eslint/only-throw-error": "off" },
  },
  {
    // Declarations and one-sided assignments are the point of these files.
    files: ["test/types/**/*.ts", "test/docs-preludes/**/*.ts"],
    rules: {
      "@typescript-eslint/no-unused-vars": "off",
      "@typescript-eslint/no-floating-promises": "off",
    },
  },
);
