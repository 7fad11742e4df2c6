import BelfryCore
import FoundationEssentials
import Hummingbird

extension Admin {
    /// Pushes and their receipts: `/admin/v1/apps/:app_uuid/pushes` and `/admin/v1/pushes/:receipt_id`.
    struct Pushes: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/pushes", .read, list),
                factory.application(.post, "apps/:app_uuid/pushes", .send, create).repeatable,
                factory.receipt(.get, "pushes/:receipt_id", .read, show),
                factory.receipt(.post, "pushes/:receipt_id/write-off", .change, writeOff).repeatable,
                factory.receipt(.get, "pushes/:receipt_id/platforms", .read, platforms),
                factory.receipt(.get, "pushes/:receipt_id/devices", .read, devices),
                factory.receipt(.get, "pushes/:receipt_id/devices/:device_uuid", .read, answer),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let receipts = try await factory.store.receipts(
                of: application.key, before: try query.cursor().map { Key($0[0]) }, limit: limit)
            var json = JSONWriter()
            json.object { json in
                json.array("pushes", receipts) { json, receipt in json.object { $0.receipt(receipt, of: application) } }
                json.next(receipts.count == limit ? receipts.last.map { Cursor($0.push.key.rawValue) } : nil)
            }
            return Response(json: json.buffer)
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: PushBody.self)
            // Refused before a channel is taken in, and once more with those that are.
            _ = try body.pushRequest(channels: body.channels.map { _ in [] })
            let pushRequest = try body.pushRequest(channels: try await devices(of: body.channels, application))
            if let dueAt = body.sendAt, dueAt > factory.clock.now {
                return try await schedule(pushRequest, at: dueAt, call, application)
            }
            return factory.accepted(try await factory.pushes.send(pushRequest, for: application, by: call.author), call)
        }

        private func devices(of channels: [String]?, _ application: Application) async throws -> [UUID]? {
            guard let channels else { return nil }
            return try await factory.channels.devices(of: channels, of: application.key)
        }

        private func schedule(
            _ pushRequest: PushRequest, at dueAt: Instant, _ call: Call, _ application: Application
        ) async throws -> Response {
            let schedule = try await factory.pushes.schedule(pushRequest, at: dueAt, for: application, by: call.author)
            var json = JSONWriter()
            json.object { $0.string("schedule_id", schedule.key.id) }
            return .created(json.buffer)
        }

        /// With what it says and to whom, and what it waits for; a message that cannot be read hides nothing else.
        private func show(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let pushRequest = try await factory.unlessDamaged { try await factory.store.request(of: receipt.push.key) }
            let faults = try await factory.store.connectionFaults(of: receipt.push.key)
            var json = JSONWriter()
            json.object { json in
                json.receipt(receipt, of: application)
                json.array("connection_faults", faults) { $0.fault($1) }
                json.value("message", pushRequest??.content.json ?? .null)
                json.value("target", pushRequest??.target.json ?? .null)
            }
            return Response(json: json.buffer)
        }

        /// Gives up what of it cannot be read, so that it settles.
        private func writeOff(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let writeOff = try await factory.admin.writeOffDamage(of: receipt, of: application, by: call.author)
            if writeOff != .nothing { factory.pushObserver.noticed(receipt.push) }
            var json = JSONWriter()
            json.object { json in
                json.integer("devices", Int64(writeOff.devices))
                json.integer("fan_outs", Int64(writeOff.fanOuts))
            }
            return Response(json: json.buffer)
        }

        /// What became of it on each platform, in the order they were made; what was on deleted ones comes last.
        private func platforms(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let counts = try await factory.store.answerCounts(of: receipt.push.key)
            let platforms = try await factory.store.platforms(of: application.key)
            let alive = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
            let rows = platforms.map { ($0, counts[$0.key] ?? [:]) }.filter { !$0.1.isEmpty }
            let deleted = counts.filter { alive[$0.key] == nil }.values.reduce(into: [Answer: Int]()) { sum, counts in
                sum.merge(counts, uniquingKeysWith: +)
            }
            var json = JSONWriter()
            json.object { json in
                json.array("platforms", rows + (deleted.isEmpty ? [] : [(nil, deleted)])) { json, row in
                    json.object { json in
                        let (platform, counts) = row
                        json.string("platform_uuid", platform?.uuid.lowercased)
                        json.string("type", platform?.kind.rawValue)
                        json.string("name", platform?.name)
                        json.counts(counts)
                    }
                }
            }
            return Response(json: json.buffer)
        }

        /// Devices with one kind of answer; those that failed unless another is asked for.
        private func devices(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging + ["answer"])
            let page = try await factory.store.answers(
                in: receipt.push.key, kind: try query.choice("answer") ?? .failed,
                after: try query.cursor(of: 2).map { AnswerCursor(platform: Key($0[0]), device: Key($0[1])) },
                limit: try query.limit())
            let platforms = try await factory.store.platforms(of: application.key)
            let uuids = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.uuid) })
            var json = JSONWriter()
            json.object { json in
                json.array("devices", page.answers) { json, answer in
                    json.object { json in
                        json.uuid("device_uuid", answer.uuid)
                        json.string("platform_uuid", uuids[answer.platform]?.lowercased)
                        json.string("answer", answer.answer.name)
                    }
                }
                json.next(page.next.map { Cursor($0.platform.rawValue, $0.device.rawValue) })
            }
            return Response(json: json.buffer)
        }

        /// What became of one device.
        private func answer(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let platforms = try await factory.store.platforms(of: application.key).map(\.key)
            guard let uuid = call.uuid("device_uuid"),
                let device = try await factory.store.deviceKeys([uuid], on: platforms).first,
                let answer = try await factory.store.answer(of: device, in: receipt.push.key)
            else { throw APIError.missing("device in this push") }
            var json = JSONWriter()
            json.object { json in
                json.uuid("device_uuid", uuid)
                json.string("answer", answer.name)
            }
            return Response(json: json.buffer)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func receipt(_ receipt: Receipt, of application: Application) {
        uuid("receipt_id", receipt.push.receiptID)
        uuid("app_uuid", application.uuid)
        string("state", receipt.state.rawValue)
        string("lane", "\(receipt.push.lane)")
        counts(receipt.counts)
        string("accepted_at", receipt.push.acceptedAt.text)
        string("expires_at", receipt.push.expiresAt?.text)
        string("first_answer_at", receipt.firstAnswerAt?.text)
        string("settled_at", receipt.settledAt?.text)
        array("parked", receipt.parked) { $0.parking($1) }
        integer("damaged_batches", Int64(receipt.damagedBatches))
        integer("damaged_fan_outs", Int64(receipt.damagedFanOuts))
    }
}

extension JSONWriter {
    fileprivate mutating func counts(_ counts: [Answer: Int]) {
        integer("devices", Int64(counts.values.reduce(0, +)))
        let named = counts.filter { $0.value > 0 }.map { ($0.key.name, Int64($0.value)) }
        integers("counts", named.sorted { $0.0 < $1.0 })
    }
}

extension JSONWriter {
    fileprivate mutating func fault(_ fault: PlatformFault) {
        object { json in
            json.uuid("platform_uuid", fault.platform)
            json.string("fault", fault.fault.kind.rawValue)
            json.string("detail", fault.fault.detail)
            json.string("last_at", fault.at.text)
        }
    }
}

extension Push.Content {
    /// As `PushBody` reads it.
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["body"] = body.map(JSONValue.string)
        if !custom.isEmpty { members["custom"] = .object(custom) }
        members["apns"] = apple?.json
        return .object(members)
    }
}

extension ApplePush {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "type": .string(type.rawValue), "store": .bool(isStored), "payload": .object(payload),
        ]
        members["priority"] = priority.map { .integer($0.rawValue) }
        members["collapse_id"] = collapseID.map(JSONValue.string)
        return .object(members)
    }
}

extension Target {
    /// As `PushBody` reads it.
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [:]
        members["devices"] = devices.map { .strings($0.map(\.lowercased)) }
        if !topics.isEmpty { members["topics"] = .strings(topics) }
        if !customUserIDs.isEmpty { members["custom_user_ids"] = .strings(customUserIDs) }
        if members.isEmpty { members["everyone"] = .bool(true) }
        members["platforms"] = platforms.map { .strings($0.map(\.rawValue)) }
        if isInteractiveOnly { members["interactive_only"] = .bool(true) }
        return .object(members)
    }
}
