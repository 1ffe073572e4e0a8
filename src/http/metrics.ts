/** What Prometheus reads: text, as its exposition format 0.0.4 says. */
export interface Metrics {
  /** A request was answered. */
  answered(operation: string, status: number, seconds: number): void
  gauge(name: string, about: string, read: () => number | Promise<number>): void
  text(): Promise<string>
}

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

interface Histogram {
  readonly buckets: number[]
  sum: number
  count: number
}

export function makeMetrics(): Metrics {
  const requests = new Map<string, number>()
  const durations = new Map<string, Histogram>()
  const gauges: { name: string; about: string; read: () => number | Promise<number> }[] = []
  return {
    answered(operation, status, seconds) {
      const key = `operation="${operation}",status="${status}"`
      requests.set(key, (requests.get(key) ?? 0) + 1)
      const histogram = durations.get(operation) ?? { buckets: bounds.map(() => 0), sum: 0, count: 0 }
      const at = bounds.findIndex((bound) => seconds <= bound)
      if (at !== -1) histogram.buckets[at] = (histogram.buckets[at] ?? 0) + 1
      histogram.sum += seconds
      histogram.count += 1
      durations.set(operation, histogram)
    },
    gauge: (name, about, read) => void gauges.push({ name, about, read }),
    async text() {
      const lines = ['# HELP aw_requests_total Requests that were answered', '# TYPE aw_requests_total counter']
      for (const [labels, count] of requests) lines.push(`aw_requests_total{${labels}} ${count}`)
      lines.push('# HELP aw_request_seconds How long answers took', '# TYPE aw_request_seconds histogram')
      for (const [operation, histogram] of durations) lines.push(...histogramLines(operation, histogram))
      for (const { name, about, read } of gauges) {
        lines.push(`# HELP ${name} ${about}`, `# TYPE ${name} gauge`, `${name} ${await read()}`)
      }
      return `${lines.join('\n')}\n`
    },
  }
}

function histogramLines(operation: string, { buckets, sum, count }: Histogram): string[] {
  let below = 0
  const steps = bounds.map((bound, i) => {
    below += buckets[i] ?? 0
    return `aw_request_seconds_bucket{operation="${operation}",le="${bound}"} ${below}`
  })
  return [
    ...steps,
    `aw_request_seconds_bucket{operation="${operation}",le="+Inf"} ${count}`,
    `aw_request_seconds_sum{operation="${operation}"} ${sum}`,
    `aw_request_seconds_count{operation="${operation}"} ${count}`,
  ]
}
