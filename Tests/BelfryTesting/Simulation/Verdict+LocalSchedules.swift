import BelfryService

// Schedules by the clocks of each recipient: whoever crashed or travelled meanwhile, each device gets one push, and not before its time.

extension Verdict {
    var localViolations: [String] {
        let schedules = contents.schedules.values.sorted { $0.key < $1.key }
        return schedules.flatMap { schedule -> [String] in
            if let local = schedule.local { return violations(of: schedule, local) }
            return schedule.recurrence?.isLocal == true ? violations(ofRecurring: schedule) : []
        } + history.startedInSpiteOfCancel
    }

    private func violations(of schedule: Schedule, _ local: LocalDelivery) -> [String] {
        let pushes = history.pushesBySchedule[schedule.key, default: []]
        var got: [Key<Device>: [Push]] = [:]
        for push in pushes {
            for batch in contents.batches.values.map(\.batch) where batch.pushKey == push.key {
                for device in batch.devices { got[device, default: []].append(push) }
            }
        }
        return devices.flatMap { device in
            repetitions(of: schedule, got[device.key, default: []], to: device.key)
                + mistakes(of: schedule, local, got[device.key, default: []].first, for: device)
        }
    }

    /// A device stands in one push of the schedule, and is told of it as often as doubts permit.
    private func repetitions(of schedule: Schedule, _ pushes: [Push], to device: Key<Device>) -> [String] {
        let name = "schedule \(schedule.key): device \(device)"
        let entries = pushes.map { ledger[$0.key, device] }
        let told = entries.reduce(0) { $0 + $1.told }
        let doubts =
            pushes.reduce(0) { $0 + history.doubts($1.key, device) }
            + entries.reduce(0) { $0 + $1.outcomes.count { $0 == .unanswered } }
        var found: [String] = []
        if pushes.count > 1 { found.append("\(name) is in the pushes \(pushes.map(\.key))") }
        if told > 1 + doubts { found.append("\(name) was told \(told) times with \(doubts) doubts") }
        return found
    }

    /// A device that stayed as it was since the schedule was made gets it when its own clock has come to the time, or never where that is past.
    private func mistakes(
        of schedule: Schedule, _ local: LocalDelivery, _ push: Push?, for device: Device
    ) -> [String] {
        guard let beginning = history.beginnings[schedule.key], device.isActive,
            beginning.active.contains(device.key), !history.isTouched(device.key, since: beginning.moment)
        else { return [] }
        let name = "schedule \(schedule.key): device \(device.key)"
        let due = contents.zone(of: device).map(local.due) ?? local.due(in: local.zone)
        switch (due, push) {
        case (nil, _?): return ["\(name) got it, though its clock was past the time"]
        case (let due?, let push?) where push.acceptedAt < due:
            return ["\(name) got it before its clock came to the time"]
        case (_?, nil) where schedule.ending?.how.name == "sent" && isMeant(device, by: schedule):
            return ["\(name) did not get it"]
        default: return []
        }
    }

    private func isMeant(_ device: Device, by schedule: Schedule) -> Bool {
        let target = schedule.pushRequest.target
        let platforms = contents.platforms.values.filter { $0.applicationKey == schedule.applicationKey }
        return target.platforms(of: Array(platforms)).map(\.key).contains(device.platformKey)
            && contents.members(of: target.audience(named: []), on: device.platformKey).contains(device.key)
    }

    /// Each of its times starts one schedule.
    private func violations(ofRecurring schedule: Schedule) -> [String] {
        let started = contents.schedules.values.compactMap(\.local).filter { $0.parent == schedule.key }.map(\.time)
        let expected = World.LocalSchedule.times - history.skips[schedule.key, default: 0]
        var found: [String] = []
        if Set(started).count != started.count {
            found.append("schedule \(schedule.key): started two schedules for one time")
        }
        if !history.cancelled.contains(schedule.key), started.count < expected {
            found.append("schedule \(schedule.key): started \(started.count) schedules, not \(expected)")
        }
        return found
    }
}

extension Contents {
    /// The zone that the device tells, or else its user.
    fileprivate func zone(of device: Device) -> ZoneInfo? {
        let name = deviceDetails[device.key]?.timeZone ?? device.customUserID.flatMap { userTimeZones[$0] }
        return name.flatMap { try? ZoneInfo($0, field: "zone") }
    }
}
