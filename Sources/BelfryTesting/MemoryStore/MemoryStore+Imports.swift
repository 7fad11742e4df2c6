package import BelfryService
package import FoundationEssentials
import Synchronization

extension MemoryStore {
    package func importSurvey(of devices: [DeviceImport], on platform: Platform) async throws -> ImportSurvey {
        transaction { contents in
            let topics = devices.reduce(into: Set<String>()) { $0.formUnion($1.registration.topics.wanted) }
            let known = contents.topics.values.filter { $0.application == platform.applicationKey }.map(\.topic.name)
            return ImportSurvey(
                parties: devices.map { contents.parties(of: $0, on: platform.key) }, topics: topics.intersection(known))
        }
    }

    package func importScratch() async throws -> any ImportScratch { MemoryImportScratch() }
}

extension Contents {
    fileprivate func parties(of device: DeviceImport, on platform: Key<Platform>) -> ImportSurvey.Parties {
        let holder = holders[Address(platform: platform, token: device.registration.token)]
        var userDevices = 0
        if case .set(let id) = device.registration.customUserID {
            userDevices = devices.values.count {
                $0.platformKey == platform && $0.customUserID == id && $0.isActive
            }
        }
        return ImportSurvey.Parties(
            named: device.uuid.flatMap { self.device($0, on: platform) }, holder: holder.flatMap { devices[$0] },
            isForeign: device.uuid.map { naming.device(of: $0) == nil } ?? false, userDevices: userDevices)
    }
}

/// Keeps all in memory.
final class MemoryImportScratch: ImportScratch {
    private let kept = Mutex<[UInt64: [UInt64]]>([:])

    func values(of keys: [UInt64]) async throws -> [UInt64: [UInt64]] {
        kept.withLock { kept in kept.filter { keys.contains($0.key) } }
    }

    func set(_ values: [UInt64: [UInt64]]) async throws {
        kept.withLock { $0.merge(values) { _, new in new } }
    }
}

// MARK: - Imports of the admin API

extension MemoryStore {
    package func createImport(
        _ uuid: UUID, of application: Key<Application>, from source: ImportJob.Source, position: Int, by keyID: String?
    ) async throws -> ImportJob {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[application] != nil else { throw StoreError.unknown("application") }
            guard contents.importJobs.count(where: { $0.applicationKey == application }) < ImportJob.countMax else {
                throw ImportJob.tooMany
            }
            guard !contents.importJobs.contains(where: { $0.uuid == uuid }) else {
                throw StoreError.taken("this import")
            }
            let job = ImportJob(
                key: contents.nextKey(), uuid: uuid, applicationKey: application, source: source, keyID: keyID,
                position: position, createdAt: now, updatedAt: now)
            contents.importJobs.append(job)
            return job
        }
    }

    package func importJob(_ uuid: UUID, of application: Key<Application>) async throws -> ImportJob? {
        contents.importJobs.first { $0.uuid == uuid && $0.applicationKey == application }
    }

    package func importJobs(
        of application: Key<Application>, after: Key<ImportJob>?, limit: Int
    ) async throws -> [ImportJob] {
        let found = contents.importJobs.filter { job in
            job.applicationKey == application && after.map { job.key < $0 } ?? true
        }
        return Array(found.sorted { $0.key > $1.key }.prefix(limit))
    }

    package func resumeImport(_ job: Key<ImportJob>, by keyID: String?) async throws -> ImportJob? {
        change(job, attempt: nil) {
            $0.keyID = keyID
            $0.state = .running
            $0.attempt += 1
        }
    }

    package func note(
        _ step: ImportStep, of job: ImportJob, atMost verdictBytesMax: Int
    ) async throws -> ImportJob? {
        let kept = contents.importVerdicts.values.joined().reduce(0) { $0 + $1.lines.count }
        let hasRoom = !step.lines.isEmpty && kept + step.lines.count <= verdictBytesMax
        let changed = change(job.key, attempt: job.attempt) { job in
            job.state = .running
            job.position = step.position
            job.tally.new += step.tally.new
            job.tally.updated += step.tally.updated
            job.tally.duplicate += step.tally.duplicate
            job.tally.refused += step.tally.refused
            if hasRoom { job.verdictRows += step.tally.rows }
        }
        guard let changed, hasRoom else { return changed }
        transaction { contents in
            contents.importVerdicts[job.key, default: []].append(
                ImportVerdictLines(position: step.position, lines: step.lines))
        }
        return changed
    }

    package func end(_ job: ImportJob, as state: ImportJob.State, reason: String) async throws -> ImportJob? {
        let now = clock.now
        return change(job.key, attempt: job.attempt) { job in
            job.state = state
            job.reason = reason
            job.endedAt = state.isEnded ? now : nil
        }
    }

    private func change(
        _ key: Key<ImportJob>, attempt: Int?, _ change: (inout ImportJob) -> Void
    ) -> ImportJob? {
        let now = clock.now
        return transaction { contents in
            guard let place = contents.importJobs.firstIndex(where: { $0.key == key }),
                !contents.importJobs[place].state.isEnded,
                attempt.map({ contents.importJobs[place].attempt == $0 }) ?? true
            else { return nil }
            change(&contents.importJobs[place])
            contents.importJobs[place].updatedAt = now
            return contents.importJobs[place]
        }
    }

    package func importVerdicts(
        of job: Key<ImportJob>, after position: Int, limit: Int
    ) async throws -> [ImportVerdictLines] {
        Array((contents.importVerdicts[job] ?? []).filter { $0.position > position }.prefix(limit))
    }
}

extension Contents {
    mutating func deleteExpiredImports(before: Instant) -> Int {
        let due = Set(importJobs.filter { $0.updatedAt < before }.map(\.key))
        importJobs.removeAll { due.contains($0.key) }
        for key in due { importVerdicts[key] = nil }
        return due.count
    }
}
