// A short list of rules that find bugs. Prettier formats the code; test/project/architecture.test.ts checks the layers.

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
      "test/frameworks/apps/",
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
      // Without these two settings the plugin neither parses nor follows a `.ts` file, and finds no cycle.
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
    // Users' data is shown as text on every page: nothing here may turn it into markup or code (S14).
    files: ["ui/**/*.ts", "ui/**/*.tsx"],
    rules: {
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "Identifier[name=/^(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|srcdoc|srcDoc)$/]",
          message: "Insert text as text, not as markup or code.",
        },
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Insert text as text, not as markup or code.",
        },
        {
          selector: "MemberExpression[object.name='document'][property.name=/^write(ln)?$/]",
          message: "Insert text as text, not as markup or code.",
        },
      ],
    },
  },
  {
    // Example code follows the rules that users get.
    files: ["demo/**/*.ts", "examples/**/*.ts"],
    extends: [perdure.configs.recommended],
    settings: { perdure: { modules: ["../src/index.ts", "../../src/index.ts"] } },
  },
  {
    // Tests throw whatever user code might throw.
    files: ["test/**/*.ts", "src/testing/conformance/**/*.ts"],
    rules: { "@typescript-eslint/only-throw-error": "off" },
  },
  {
    // These files consist of declarations and of assignments that only the compiler checks.
    files: ["test/project/types/**/*.ts", "test/project/docs-preludes/**/*.ts"],
    rules: {
      "@typescript-eslint/no-unused-vars": "off",
      "@typescript-eslint/no-floating-promises": "off",
    },
  },
);
