import Foundation
import NIOCore

/// The steady load of callers on a server: pushes to many and to one, schedules, registrations.
struct SoakLoad: Sendable {
    let server: Server
    let sender: Sender
    let simulator: Simulator
    let crowd: Crowd

    /// - Parameter duration: milliseconds.
    /// - Returns: from the posting of each push to one device to its telling, in milliseconds.
    func run(for duration: Double, with fault: SoakFault) async throws -> [Double] {
        try await simulator.forget()
        if let script = fault.script { try await simulator.fail(script) }
        let end = WallClock.now + duration
        async let broadcasts: Void = repeating(each: .seconds(5), until: end) { number in
            _ = try await sender.push(to: number % 6 == 0 ? .all : .some)
        }
        async let registrations: Void = repeating(each: .seconds(1), until: end) { _ in
            let first = Int.random(in: 0..<crowd.count - 1_000)
            _ = try await HTTPLoad(port: server.port, connections: 4, write: registration).run(first..<first + 1_000)
        }
        async let schedules: Void = repeating(each: .seconds(2), until: end) { number in
            let place = crowd.singles.count / 2 + number
            try await sender.schedule(toDevice: crowd.singles[place], at: Int(WallClock.now + 61_000))
        }
        var sentAt: [Double] = []
        try await repeating(each: .milliseconds(400), until: end) { number in
            sentAt.append(try await sender.push(toDevice: crowd.singles[number]).sentAt)
        }
        _ = try await (broadcasts, registrations, schedules)
        var waits: [Double] = []
        for (place, start) in sentAt.enumerated() { waits.append(try await toldAt(place) - start) }
        return waits
    }

    private func repeating(
        each pause: Duration, until end: Double, _ body: (Int) async throws -> Void
    ) async throws {
        var number = 0
        while WallClock.now < end {
            try await body(number)
            number += 1
            try await Task.sleep(for: pause)
        }
    }

    private var registration: @Sendable (Int, inout ByteBuffer) -> Void {
        RegistrationRequests(path: "/v1/registration", port: server.port, credentials: server.identity.app) { number in
            Crowd.marks(of: number, among: crowd.count)
        }.write
    }

    private func toldAt(_ place: Int) async throws -> Double {
        for _ in 0..<1_200 {
            // The ledger cuts off fractions of a millisecond, which are counted against us.
            if let at = try await simulator.firstTold(Crowd.single(place)) { return at + 1 }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchmarkFault("a device was not told within a minute")
    }
}
