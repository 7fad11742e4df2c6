package import BelfryService

extension MemoryStore {
    package func receipts(
        of application: Key<Application>, before: Key<Push>?, limit: Int
    ) async throws -> [Receipt] {
        transaction { contents in
            let rows = contents.pushes.values.filter { row in
                row.push.applicationKey == application && (before.map { row.push.key < $0 } ?? true)
            }
            return rows.sorted { $0.push.key > $1.push.key }.prefix(limit).map { contents.receipt(of: $0) }
        }
    }

    package func openReceipts(of application: Key<Application>, limit: Int) async throws -> [Receipt] {
        let all = try await receipts(of: application, before: nil, limit: .max)
        return Array(all.filter { $0.settledAt == nil }.prefix(limit))
    }

    package func pushes(
        of application: Key<Application>, before: Key<Push>?, limit: Int
    ) async throws -> [PushHead] {
        try await receipts(of: application, before: before, limit: limit).map(\.push)
    }

    package func request(of push: Key<Push>) async throws -> PushRequest? {
        transaction { contents in
            guard let request = contents.pushes[push]?.push.pushRequest(naming: contents.naming) else { return nil }
            let names = Dictionary(
                uniqueKeysWithValues: contents.devices.values.map { (contents.naming.uuid(of: $0.key), $0.uuid) })
            return request.aimed(at: request.target.renamed(names))
        }
    }

    package func contents<Value: Sendable>(
        of pushes: [Key<Push>], _ read: @escaping @Sendable (Push.Content) -> Value
    ) async throws -> [Key<Push>: Value] {
        transaction { contents in
            contents.pushes.filter { pushes.contains($0.key) }.mapValues { read($0.push.content) }
        }
    }

    package func answerCounts(of push: Key<Push>) async throws -> [Key<Platform>: [Answer: Int]] {
        transaction { contents in
            var counts: [Key<Platform>: [Answer: Int]] = [:]
            for batch in contents.batches.values.map(\.batch) where batch.pushKey == push {
                for answer in batch.answers { counts[batch.platformKey, default: [:]][answer, default: 0] += 1 }
            }
            return counts
        }
    }

    package func answerTimes(of push: Key<Push>) async throws -> AnswerTimes {
        AnswerTimes(
            contents.batches.values.filter { $0.batch.pushKey == push && $0.lease.dueAt == nil }.compactMap { row in
                row.answeredAt.map { AnswerTimes.Batch(closedAt: $0, devices: row.batch.devices.count) }
            })
    }

    package func answers(
        in push: Key<Push>, kind: Answer.Kind, after: AnswerCursor?, limit: Int
    ) async throws -> AnswerPage {
        transaction { contents in
            let all = contents.batches.values.map(\.batch).filter { $0.pushKey == push }.flatMap { batch in
                zip(batch.devices, batch.answers).map { (AnswerCursor(platform: batch.platformKey, device: $0), $1) }
            }
            let found = all.filter { cursor, answer in
                kind.includes(answer) && (after.map { $0 < cursor } ?? true)
            }.sorted { $0.0 < $1.0 }
            let answers = found.prefix(limit).map { cursor, answer in
                DeviceAnswer(
                    uuid: contents.devices[cursor.device]?.uuid ?? contents.naming.uuid(of: cursor.device),
                    platform: cursor.platform, answer: answer)
            }
            return AnswerPage(answers: answers, next: found.count > limit ? found[limit - 1].0 : nil)
        }
    }
}

extension AnswerCursor {
    fileprivate static func < (left: AnswerCursor, right: AnswerCursor) -> Bool {
        (left.platform, left.device) < (right.platform, right.device)
    }
}
