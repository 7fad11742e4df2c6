import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// Imports of the admin API, whose progress outlives their requests.
@Suite struct ImportJobConformance {
    private static let uuid = UUID(words: 0x1111_2222_3333_4444, 0x8555_6666_7777_8888)
    private static let source = ImportJob.Source(
        format: .jsonl, mapping: "token=push", platform: UUID(words: 3, 4), isDryRun: false)

    private static func step(_ position: Int, _ outcomes: [ImportVerdict], _ text: String) -> ImportStep {
        var tally = ImportTally()
        for outcome in outcomes { tally.note(outcome) }
        return ImportStep(position: position, tally: tally, lines: Array(text.utf8))
    }

    @Test(arguments: Engine.allCases)
    func `an import keeps its progress and row results`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            let job = try await store.createImport(
                Self.uuid, of: application.key, from: Self.source, position: 2, by: "key")
            #expect(try await store.importJob(Self.uuid, of: application.key) == job)
            #expect(job.state == .running && job.position == 2 && job.attempt == 1 && job.source == Self.source)
            fixture.clock.advance(by: .seconds(5))
            let first = try await store.note(Self.step(4, [.new, .refused("no")], "3,new\n4,refused\n"), of: job)
            let second = try #require(try await store.note(Self.step(5, [.updated], "5,updated\n"), of: job))
            #expect(first?.position == 4 && second.position == 5 && second.verdictRows == 3)
            #expect(second.tally.rows == 3 && second.tally.refused == 1 && second.updatedAt == fixture.clock.now)
            #expect(try await store.importJob(Self.uuid, of: application.key) == second)
            let lines = try await store.importVerdicts(of: job.key, after: 0, limit: 1)
            #expect(lines == [ImportVerdictLines(position: 4, lines: Array("3,new\n4,refused\n".utf8))])
            let rest = try await store.importVerdicts(of: job.key, after: 4, limit: 9)
            #expect(rest == [ImportVerdictLines(position: 5, lines: Array("5,updated\n".utf8))])
            let ended = try #require(try await store.end(job, as: .completed, reason: ""))
            #expect(ended.state == .completed && ended.endedAt == fixture.clock.now && ended.tally == second.tally)
            #expect(try await store.note(Self.step(6, [.new], "6\n"), of: job) == nil)
            #expect(try await store.resumeImport(job.key, by: nil) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an application's imports are limited, independent of others`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<ImportJob.countMax {
                    group.addTask {
                        _ = try await store.createImport(
                            UUID(words: 1, UInt64(number)), of: application.key, from: Self.source, position: 0, by: nil
                        )
                    }
                }
                try await group.waitForAll()
            }
            await #expect(throws: ImportJob.tooMany) {
                try await store.createImport(
                    UUID(words: 2, 0), of: application.key, from: Self.source, position: 0, by: nil)
            }
            let other = try await store.create(.named("weather"))
            _ = try await store.createImport(UUID(words: 2, 0), of: other.key, from: Self.source, position: 0, by: nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an import continued by another request leaves the first`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            let first = try await store.createImport(
                Self.uuid, of: application.key, from: Self.source, position: 0, by: "key")
            _ = try await store.note(Self.step(1, [.new], "1\n"), of: first)
            fixture.clock.advance(by: ImportJob.lease)
            let silent = try #require(try await store.importJob(Self.uuid, of: application.key))
            #expect(silent.state == .running && silent.state(at: fixture.clock.now) == .waiting)
            let second = try #require(try await store.resumeImport(first.key, by: "other"))
            #expect(second.attempt == 2 && second.position == 1 && second.keyID == "other")
            #expect(second.state(at: fixture.clock.now) == .running)
            #expect(try await store.note(Self.step(2, [.new], "2\n"), of: first) == nil)
            #expect(try await store.end(first, as: .completed, reason: "") == nil)
            #expect(try await store.note(Self.step(2, [.duplicate], "2\n"), of: second)?.tally.rows == 2)
            #expect(try await store.end(second, as: .waiting, reason: "")?.endedAt == nil)
            let third = try #require(try await store.resumeImport(first.key, by: "key"))
            #expect(try await store.end(third, as: .failed, reason: "why")?.reason == "why")
        }
    }

    @Test(arguments: Engine.allCases)
    func `imports are listed newest first, per application`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            let other = try await store.create(.named("other"))
            var jobs: [ImportJob] = []
            for number in 0..<5 {
                jobs.append(
                    try await store.createImport(
                        UUID(words: 9, UInt64(number)), of: application.key, from: Self.source, position: 0, by: nil))
            }
            let foreign = try await store.createImport(
                Self.uuid, of: other.key, from: Self.source, position: 0, by: nil)
            let first = try await store.importJobs(of: application.key, after: nil, limit: 3)
            #expect(first == [jobs[4], jobs[3], jobs[2]])
            let rest = try await store.importJobs(of: application.key, after: jobs[2].key, limit: 3)
            #expect(rest == [jobs[1], jobs[0]])
            #expect(try await store.importJobs(of: other.key, after: nil, limit: 3) == [foreign])
            #expect(try await store.importJob(Self.uuid, of: application.key) == nil)
            await #expect(throws: StoreError.taken("this import")) {
                try await store.createImport(
                    Self.uuid, of: application.key, from: Self.source, position: 0, by: nil)
            }
            await #expect(throws: StoreError.self) {
                try await store.createImport(.init(), of: Key(999), from: Self.source, position: 0, by: nil)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `verdicts beyond an application's room are only counted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            let job = try await store.createImport(
                Self.uuid, of: application.key, from: Self.source, position: 0, by: nil)
            let another = try await store.createImport(
                UUID(words: 1, 1), of: application.key, from: Self.source, position: 0, by: nil)
            #expect(try await store.note(Self.step(1, [.new], "12345"), of: job, atMost: 10)?.verdictRows == 1)
            #expect(try await store.note(Self.step(1, [.new], "12345"), of: another, atMost: 10)?.verdictRows == 1)
            let beyond = try await store.note(Self.step(2, [.new], "1"), of: job, atMost: 10)
            #expect(beyond?.verdictRows == 1 && beyond?.tally.new == 2)
            #expect(try await store.importVerdicts(of: job.key, after: 0, limit: 9).count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an import and its verdicts go days after its end`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application)
            let old = try await store.createImport(
                Self.uuid, of: application.key, from: Self.source, position: 0, by: nil)
            for row in 1...450 { _ = try await store.note(Self.step(row, [.new], "\(row)\n"), of: old) }
            let begun = try await store.createImport(
                UUID(words: 1, 1), of: application.key, from: Self.source, position: 0, by: nil)
            fixture.clock.advance(by: .seconds(1_000))
            _ = try await store.note(Self.step(1, [.new], "1\n"), of: begun)
            let before = fixture.clock.now + .seconds(-10)
            while try await store.deleteExpired(.imports, before: before).isMore {}
            #expect(try await store.importJobs(of: application.key, after: nil, limit: 9).map(\.key) == [begun.key])
            #expect(try await store.importVerdicts(of: old.key, after: 0, limit: 9).isEmpty)
            #expect(try await store.importVerdicts(of: begun.key, after: 0, limit: 9).count == 1)
        }
    }
}
