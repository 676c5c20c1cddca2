import { describe, expect, it } from 'vitest'
import { findFormatFaults, parseEditorConfig } from './editor-config.ts'

const SECTIONS = parseEditorConfig(`
root = true
# A comment
[*]
end_of_line = lf
insert_final_newline = true
trim_trailing_whitespace = true
indent_style = space
[{Caddyfile,*.go}]
indent_style = tab
[templates/**/*.text]
trim_trailing_whitespace = false
`)

describe('the formatting by .editorconfig', () => {
  it.each([
    { file: 'a.yaml', text: 'a:\n  b: 1\n', faults: [] },
    { file: 'empty.sql', text: '', faults: [] },
    { file: 'a.yaml', text: 'a:\n\tb: 1\n', faults: ['a.yaml:2 is not indented by spaces'] },
    { file: 'a.sh', text: 'a\n  \tb\n', faults: ['a.sh:2 is not indented by spaces'] },
    { file: 'a.sql', text: 'select 1 \n', faults: ['a.sql:1 ends with a blank'] },
    { file: 'deploy/.env', text: 'A=1 \n', faults: ['deploy/.env:1 ends with a blank'] },
    { file: 'a.sql', text: 'select 1', faults: ['a.sql:1 does not end with a newline'] },
    { file: 'a.php', text: '<?php\r\n', faults: ['a.php:1 ends with a carriage return'] },
    { file: 'docs/a.go', text: 'func a() {\n\tb()\n}\n', faults: [] },
    { file: 'deploy/Caddyfile', text: '{\n  a\n}\n', faults: ['deploy/Caddyfile:2 is not indented by tabs'] },
    { file: 'templates/emails/en/a.text', text: '-- \n', faults: [] },
    { file: 'other/a.text', text: '-- \n', faults: ['other/a.text:1 ends with a blank'] },
  ])('finds $faults in $file', ({ file, text, faults }) => {
    expect(findFormatFaults(SECTIONS, file, text)).toEqual(faults)
  })
})
