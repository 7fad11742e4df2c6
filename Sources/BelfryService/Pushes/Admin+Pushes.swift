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
                factory.receipt(.post, "pushes/:receipt_id/cancel", .send, cancel).repeatable,
                factory.receipt(.post, "pushes/:receipt_id/update", .send, update).repeatable,
                factory.receipt(.post, "pushes/:receipt_id/retract", .send, retract).repeatable,
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
            return try Response(
                ReceiptsReply(
                    pushes: receipts.map { ReceiptReply($0, of: application) },
                    next_cursor: receipts.count == limit
                        ? receipts.last.map { Cursor($0.push.key.rawValue).text } : nil))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: PushBody.self)
            return try await create(body, call, application).warning(of: body.corrections)
        }

        private func create(_ body: PushBody, _ call: Call, _ application: Application) async throws -> Response {
            try body.checkTimes(at: factory.clock.now)
            try body.checkClocks()
            try body.checkCondition(at: factory.clock.now)
            // Validated before a channel is registered, and once more with the devices that stand for the channels.
            _ = try body.pushRequest(channels: body.channels.map { _ in [] })
            let pushRequest = try body.pushRequest(channels: try await factory.devices(of: body.channels, application))
            // Schedules take no idempotent id. One of an earlier run may have been due since.
            if body.sendAt != nil || body.local != nil || body.recurrence != nil {
                try IdempotencyMiddleware.refuseRepetition()
            }
            if let local = body.local {
                let schedule = try await factory.pushes.schedule(
                    pushRequest, at: local.made(at: factory.clock.now), for: application, by: call.author)
                return try .created(CreatedScheduleReply(schedule))
            }
            if let recurrence = body.recurrence {
                return try .created(
                    CreatedScheduleReply(
                        try await factory.pushes.schedule(
                            pushRequest, recurring: recurrence, for: application, by: call.author)))
            }
            if let dueAt = body.sendAt, dueAt > factory.clock.now {
                let schedule = try await factory.pushes.schedule(
                    pushRequest, at: dueAt, for: application, by: call.author)
                return try .created(CreatedScheduleReply(schedule))
            }
            let push = try await factory.pushes.send(pushRequest, for: application, by: call.author)
            return try factory.accepted(
                push, call, unmatched: await factory.pushes.unmatchedNames(of: push, pushRequest.target))
        }

        /// Includes content, target and connection faults; an unreadable message hides nothing else.
        private func show(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let pushRequest = try await factory.unlessDamaged { try await factory.store.request(of: receipt.push.key) }
            let faults = try await factory.store.connectionFaults(of: receipt.push.key)
            let unmatched = try await factory.unlessDamaged {
                try await factory.store.unmatchedNames(of: receipt.push.key)
            }
            let reply = ReceiptReply(
                receipt, of: application, faults: faults, unmatched: unmatched ?? UnresolvedTargets(),
                words: try await factory.store.providerWords(of: receipt.push.key),
                waits: try await waits(of: receipt))
            return try Response(
                PushReply(
                    receipt: reply, request: pushRequest ?? nil,
                    followUps: try await factory.store.followUps(of: receipt.push.key),
                    reminders: try await factory.store.reminders(of: receipt.push.key)))
        }

        private func waits(of receipt: Receipt) async throws -> [String] {
            guard receipt.settledAt == nil else { return [] }
            let trouble = try await factory.nodeTrouble(of: receipt.push)
            guard !trouble.isNone else { return [] }
            return trouble.waits(
                leasesEnd: try await factory.store.leasesEnd(of: receipt.push.key), now: factory.clock.now)
        }

        /// Cancels the deliveries that have not left yet.
        private func cancel(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            try Response(
                CancellationReply(try await factory.pushes.cancel(receipt, of: application, by: call.author)))
        }

        /// Sends another message in its place.
        private func update(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let body = try await call.body(as: UpdateBody.self).push
            try body.checkTimes(at: factory.clock.now)
            let following = try await factory.pushes.update(
                receipt, by: try body.pushRequest(to: .everyone), of: application, by: call.author)
            if let push = following.push { factory.note(push, call) }
            return try Response.created(FollowingReply(following)).warning(of: body.corrections)
        }

        /// Cancels the rest of it, and removes it from the devices that it went to.
        private func retract(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let following = try await factory.pushes.retract(receipt, of: application, by: call.author)
            if let push = following.push { factory.note(push, call) }
            return try .created(FollowingReply(following))
        }

        /// Writes off its unreadable rows, so that it settles.
        private func writeOff(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let writeOff = try await factory.admin.writeOffDamage(of: receipt, of: application, by: call.author)
            if writeOff != .nothing { factory.services.pushObserver.pushMayHaveChanged(receipt.push) }
            return try Response(WriteOffReply(writeOff))
        }

        /// The answers on each platform, in the order of creation; those on deleted platforms come last.
        private func platforms(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let counts = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.answerCounts(of: receipt.push.key)
            }
            let platforms = try await factory.store.platforms(of: application.key)
            let alive = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
            var rows = platforms.map { PlatformCountsReply.Counts($0, counts[$0.key] ?? [:]) }.filter { $0.devices > 0 }
            let deleted = counts.filter { alive[$0.key] == nil }.values.reduce(into: [Answer: Int]()) { sum, counts in
                sum.merge(counts, uniquingKeysWith: +)
            }
            if !deleted.isEmpty { rows.append(PlatformCountsReply.Counts(nil, deleted)) }
            return try Response(PlatformCountsReply(platforms: rows))
        }

        /// Devices with one kind of answer, or all of them.
        private func devices(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging + ["answer"])
            let page = try await factory.store.answers(
                in: receipt.push.key, kind: try query.choice("answer") ?? .all,
                after: try query.cursor(of: 2).map { AnswerCursor(platform: Key($0[0]), device: Key($0[1])) },
                limit: try query.limit())
            let platforms = try await factory.store.platforms(of: application.key)
            let uuids = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0.uuid) })
            return try Response(
                DeviceAnswersReply(
                    devices: page.answers.map {
                        DeviceAnswersReply.Device($0.uuid, on: uuids[$0.platform], $0.answer)
                    },
                    next_cursor: page.next.map { Cursor($0.platform.rawValue, $0.device.rawValue).text }))
        }

        /// How far the push has come for one device. While the audience is being looked up, that is not known of any device.
        private func answer(_ call: Call, _ receipt: Receipt, _ application: Application) async throws -> Response {
            guard let uuid = call.uuid("device_uuid"),
                let (device, platform) = try await factory.store.device(uuid, of: application.key)
            else { throw APIError.missing("device in this push") }
            let delivery = try await factory.store.delivery(of: device.key, in: receipt.push.key)
            guard delivery != nil || !receipt.isFannedOut else {
                throw APIError(
                    .notFound,
                    device.isActive
                        ? "The device was not in the audience of this push"
                        : "The device was not in the audience of this push: it is inactive, since it unregistered or its token died"
                )
            }
            let isPending = (delivery?.answer ?? .pending) == .pending
            let nodes = isPending ? try await factory.nodeTrouble(of: receipt.push) : .none
            return try Response(DeviceAnswerReply(device, on: platform, delivery, nodes: nodes, now: factory.clock.now))
        }
    }
}
