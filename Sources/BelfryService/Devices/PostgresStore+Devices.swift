package import FoundationEssentials

extension PostgresStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let entry = RegistrationEntry(
            registration: registration, platform: platform,
            named: uuid.flatMap { DeviceName($0, naming: secrets.naming, hasImports: platform.hasImports) },
            tokenHash: secrets.hash(registration.token))
        guard let device = try await registrations.submit(entry, in: self).device else {
            throw StoreError.unavailable("a device was registered and is missing")
        }
        return device
    }

    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        if !platform.hasImports { try await write { try $0.noteImports(on: platform) } }
        return try await withThrowingTaskGroup(of: (Int, ImportVerdict).self) { group in
            for (index, device) in devices.enumerated() {
                group.addTask { (index, try await self.verdict(on: device, platform)) }
            }
            var verdicts = [ImportVerdict](repeating: .duplicate, count: devices.count)
            for try await (index, verdict) in group { verdicts[index] = verdict }
            return verdicts
        }
    }

    private func verdict(on device: DeviceImport, _ platform: Platform) async throws -> ImportVerdict {
        let entry = RegistrationEntry(
            registration: device.registration, platform: platform,
            named: device.uuid.flatMap { DeviceName($0, naming: secrets.naming, hasImports: true) },
            tokenHash: secrets.hash(device.registration.token), imported: device)
        do {
            return try await registrations.submit(entry, in: self).verdict
        } catch StoreError.quotaExceeded(let excess) {
            return .refused(excess.description)
        } catch let error as InvalidInput {
            return .refused(error.description)
        }
    }
}
