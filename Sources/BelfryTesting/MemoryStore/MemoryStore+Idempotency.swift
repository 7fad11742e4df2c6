package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict {
        let now = clock.now
        return try transaction { contents in
            let verdict = IdempotencyVerdict(contents.idempotency[reservation.name], for: reservation, at: now)
            switch verdict {
            case .first:
                if quotas[.idempotencyKeys] != nil, contents.idempotency[reservation.name] == nil {
                    let account = QuotaAccount(.idempotencyKeys, of: reservation.caller)
                    try quotas.check(.idempotencyKeys, use: contents.use(account))
                }
                contents.idempotency[reservation.name] = IdempotencyRecord(reservation, at: now)
                contents.idempotencyCallers[reservation.name] = reservation.caller
            case .again: contents.idempotency[reservation.name]?.state = .held(until: now + reservation.hold)
            case .answered, .taken, .busy: break
            }
            return verdict
        }
    }

    package func answer(to name: [UInt8]) async throws -> StoredResponse? {
        contents.idempotency[name]?.answer(at: clock.now)
    }

    package func complete(_ name: [UInt8], idempotentID: UUID, with answer: StoredResponse) async throws {
        transaction { contents in
            if contents.isHeld(name, by: idempotentID) { contents.idempotency[name]?.state = .answered(answer) }
        }
    }

    package func release(_ name: [UInt8], idempotentID: UUID, hadNoEffect: Bool) async throws {
        let now = clock.now
        transaction { contents in
            guard contents.isHeld(name, by: idempotentID) else { return }
            if hadNoEffect {
                contents.idempotency[name] = nil
            } else {
                contents.idempotency[name]?.state = .held(until: now)
            }
        }
    }

    package func deleteOldest(of caller: Principal, beyond count: Int) async throws {
        transaction { contents in
            let own = contents.idempotency.filter { contents.idempotencyCallers[$0.key] == caller }
            for old in own.sorted(by: { $0.value.createdAt > $1.value.createdAt }).dropFirst(count) {
                contents.idempotency[old.key] = nil
            }
        }
    }
}

extension Contents {
    fileprivate func isHeld(_ name: [UInt8], by idempotentID: UUID) -> Bool {
        guard let record = idempotency[name], record.idempotentID == idempotentID, case .held = record.state else {
            return false
        }
        return true
    }
}
