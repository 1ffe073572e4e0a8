import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { collect } from '../support/collect.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'

/**
 * A real browser on this machine, with somebody else's page in it. The door here asks for no token, so that what holds
 * is nothing but the checks of Host, Origin, Sec-Fetch-Site and Content-Type; the page knows one all the same.
 */

const theirs = readFileSync(new URL('attack.html', import.meta.url), 'utf8')
const core = memoryCore().manager
let door: Served
let browser: Browser
let elsewhere: Server
let port: number

beforeAll(async () => {
  await core.call('create', { id: 'there' })
  door = await served(core, { over: 'tcp', trusting: true })
  elsewhere = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(theirs)
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  port = (elsewhere.address() as AddressInfo).port
  // The name of the attacker has come to mean this machine.
  const names = '--host-resolver-rules=MAP evil.test 127.0.0.1'
  // What newer browsers keep from this machine by themselves is not what holds here.
  const args = ['--no-sandbox', names, '--disable-features=LocalNetworkAccessChecks']
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args })
})
afterAll(async () => {
  await browser?.close()
  elsewhere?.closeAllConnections()
  elsewhere?.close()
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})

let before: number
beforeEach(async () => {
  before = (await collect(core.stream('events', {}))).length
  ;(door.logged as unknown[]).length = 0
})

async function page(url: string): Promise<Page> {
  const opened = await browser.newPage()
  await opened.goto(url)
  return opened
}

const attack = (opened: Page, target: string): Promise<Record<string, string>> =>
  opened.evaluate(`attack(${JSON.stringify(target)})`)

async function nothingCame(): Promise<void> {
  expect((await collect(core.stream('events', {}))).length).toBe(before)
  expect(await core.call('exists', { id: 'stolen' })).toEqual({ exists: false })
  expect(await core.call('exists', { id: 'there' })).toEqual({ exists: true })
  const answered = door.logged.filter(({ status }) => Number(status) < 400)
  expect(answered).toEqual([])
}

test('the browser reaches the door at all, and a page of the door itself may use it', async () => {
  const own = await browser.newPage()
  const answer = await own.goto(`http://127.0.0.1:${door.port}/api/health`)
  expect(answer?.status()).toBe(200)
  await own.route('**/page', (route) => route.fulfill({ contentType: 'text/html', body: '<title>Ours</title>' }))
  await own.goto(`http://127.0.0.1:${door.port}/page`)
  const status = await own.evaluate(async () => (await fetch('/api/workspaces')).status)
  expect(status).toBe(200)
  await own.close()
})

describe('a page of another origin', () => {
  test.each([
    ['another site', () => `http://evil.test:${port}/`, () => `http://127.0.0.1:${door.port}`],
    ['another port of this machine', () => `http://127.0.0.1:${port}/`, () => `http://127.0.0.1:${door.port}`],
    ['another name of this machine', () => `http://localhost:${port}/`, () => `http://localhost:${door.port}`],
  ])('%s reads nothing and changes nothing', async (_, from, to) => {
    const opened = await page(from())
    const got = await attack(opened, to())
    for (const name of ['get', 'token', 'post', 'text', 'remove', 'with'])
      expect(got[name], `on ${name}`).toContain('TypeError')
    for (const name of ['blind', 'hidden', 'bare']) expect(got[name], `on ${name}`).toMatch(/^opaque 0 $|TypeError/)
    expect([got['events'], got['socket'], got['script'], got['image']]).toEqual(['error', 'error', 'error', 'error'])
    await opened.waitForTimeout(300)
    expect(door.logged.length).toBeGreaterThan(5)
    await nothingCame()
    await opened.close()
  })

  test('without an origin, in a sandboxed frame, is refused as well', async () => {
    const opened = await page(`http://127.0.0.1:${port}/`)
    const target = `http://127.0.0.1:${door.port}`
    await opened.setContent(
      `<iframe sandbox="allow-scripts allow-forms" srcdoc="<script>
        fetch('${target}/api/workspaces?id=stolen', { method: 'POST', mode: 'no-cors' })
        new WebSocket('${target.replace('http', 'ws')}/api/events')
        new EventSource('${target}/api/events')
      </script>"></iframe>`,
    )
    await expect.poll(() => door.logged.length).toBeGreaterThan(2)
    await nothingCame()
    await opened.close()
  })
})

test('a page whose name was made to mean this machine reads nothing and changes nothing', async () => {
  const opened = await browser.newPage()
  const base = `http://evil.test:${door.port}`
  // It was loaded while the name still meant another machine.
  await opened.route('**/page', (route) => route.fulfill({ contentType: 'text/html', body: theirs }))
  await opened.goto(`${base}/page`)
  const got = await attack(opened, base)
  for (const name of ['get', 'token', 'post', 'text', 'remove', 'with', 'hidden', 'bare', 'blind'])
    expect(got[name], `on ${name}`).toMatch(/^basic 421 /)
  expect([got['events'], got['socket'], got['script'], got['image']]).toEqual(['error', 'error', 'error', 'error'])
  await opened.waitForTimeout(300)
  expect(door.logged.every(({ status }) => status === 421)).toBe(true)
  await nothingCame()
  await opened.close()
})
