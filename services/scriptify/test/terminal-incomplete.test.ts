import { beforeAll, describe, expect, it } from 'vitest'
import { isIncomplete } from '../src/terminal/node/parse-code.ts'
import { findPhpMachine, hasDocker, type PhpMachine, ROOT } from './terminal-docker.ts'

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: typed code
const TYPESCRIPT = {
  incomplete: [
    'if (true)',
    'if (x) {',
    'for (;;)',
    'while (1)',
    'do {',
    'do {} while',
    'switch (x) {',
    'try { }',
    'else_ =>',
    'a ?',
    'a ? b',
    '1 +',
    'foo(',
    '[1,',
    '{ a: 1',
    'a = {\n b: 1,',
    '`abc',
    '`${',
    '`${a}',
    '/* c',
    '"abc\\',
    'function foo()',
    'function f(a: string) {',
    'async function f() {',
    'const f = async () => {',
    '(x: number) =>',
    'class A',
    'class A {',
    'enum E {',
    'interface B {',
    'type A =',
    'type X = {',
    'return (',
    'await',
    'new',
    'throw',
    '!',
    'a.',
    'a?.',
    'x as',
    'import x',
    'import { a } from',
    'import {',
    'for await (const x of y)',
    'function* g() {',
    'export const x =',
  ],
  complete: [
    '1 + 1',
    'foo()',
    'const x = 1',
    'let x',
    "// don't",
    "const s = '{'",
    '"it\'s"',
    'if (x) {}',
    'try { } catch { }',
    'function f() {}',
    'type A = { a: number }',
    'interface B { b: 1 }',
    'enum E { A }',
    'class A {}',
    'import { a } from "x"',
    '{ a: 1 }',
    '`a${1}`',
    '/a{/',
    '"abc',
    'foo)',
    '}',
    'let x = ;',
    'else',
    '/abc',
    'declare const z: number',
    'abstract class Q {}',
    '/* { */',
    'await 1',
    'x!',
    '',
  ],
}

// biome-ignore-end lint/suspicious/noTemplateCurlyInString: typed code

describe('typed TypeScript', () => {
  it.each(TYPESCRIPT.incomplete)('goes on after %j', (code) => expect(isIncomplete(code)).toBe(true))
  it.each(TYPESCRIPT.complete)('is taken as it is: %j', (code) => expect(isIncomplete(code)).toBe(false))
})

const PHP = {
  incomplete: [
    'if ($x)',
    'if ($x) {',
    'if ($x):',
    'if (true): echo 1;',
    'while (1)',
    'for (;;)',
    'foreach ($a as $b)',
    'do {}',
    'switch ($x) {',
    'try {}',
    'try { }',
    'try { } catch (E $e)',
    '1 +',
    'f(',
    '[1,',
    '$a =',
    '$a ?',
    'new',
    'function f()',
    'function f() {',
    '$f = fn($x) =>',
    '#[Attr]',
    'class A',
    'class A {',
    'class A { function b() {',
    'match(1)',
    'match (1) {',
    "'abc",
    '"abc',
    '"abc {$x',
    '`ls',
    '/* c',
    '<<<X\nabc',
    "'don\\'t",
    'echo',
    'use A\\{B,',
    'enum E',
    'interface I {',
    'static fn() =>',
    '$a->',
    'A::',
    'yield from [',
  ],
  complete: [
    '1 + 1',
    '1 + 1;',
    'echo 1',
    'echo "hi"',
    '$x = 5',
    "// don't",
    "# it's {",
    '$s = "{";',
    '"it\'s"',
    'if ($x) {}',
    'if (true): echo 1; endif',
    'do {} while (0)',
    'try { } catch (E $e) {}',
    'function f() {}',
    'class A {}',
    '#[Attr] function f() {}',
    '<<<X\nabc\nX',
    '$a = fn($x) => $x',
    'namespace A',
    'declare(strict_types=1)',
    'use A\\B',
    "echo don't;",
    'let z = ;',
    'f)',
    '}',
    '$a = ;',
    '/* { */ 1',
    '?> text',
    '',
    '<?php echo 1;',
    'else',
    'match(1) { default => 2 }',
    'null',
    'return',
    '$f()',
    '(int) "5"',
    'throw new E',
  ],
}

describe.skipIf(!(await hasDocker()))('typed php', () => {
  let machine: PhpMachine
  beforeAll(async () => {
    machine = await findPhpMachine()
  })

  it('goes on exactly where the engine misses something', async () => {
    const folder = `${ROOT}/services/scriptify/src/terminal/php`
    const inputs = Buffer.from(JSON.stringify([...PHP.incomplete, ...PHP.complete])).toString('base64')
    const program = `foreach (['tokens', 'statements', 'completeness'] as $file) { require "${folder}/$file.php"; } foreach (json_decode(base64_decode("${inputs}")) as $code) {
      echo json_encode([$code, Latchkey\\Scriptify\\Terminal\\Completeness::isIncomplete($code)], JSON_UNESCAPED_SLASHES), "\\n"; }`
    const { output } = await machine.exec(['php', '-r', program])
    const answers = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, boolean])
    expect(Object.fromEntries(answers)).toEqual(
      Object.fromEntries([
        ...PHP.incomplete.map((code) => [code, true]),
        ...PHP.complete.map((code) => [code, false]),
      ]),
    )
  })
})
