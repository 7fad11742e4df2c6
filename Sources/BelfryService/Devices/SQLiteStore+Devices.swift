package import FoundationEssentials

extension SQLiteStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let named = uuid.flatMap { DeviceName($0, naming: secrets.naming, hasImports: platform.hasImports) }
        let tokenHash = secrets.hash(of: registration.token)
        return try await write { session in
            try SQLiteRegistrar(
                session: session, platform: platform, registration: registration, named: named, tokenHash: tokenHash
            ).register()
        }
    }

    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        try await write { session in
            try session.noteImports(on: platform)
            return try devices.map { device in
                try SQLiteRegistrar(
                    session: session, platform: platform, registration: device.registration,
                    named: device.uuid.flatMap { DeviceName($0, naming: session.secrets.naming, hasImports: true) },
                    tokenHash: session.secrets.hash(of: device.registration.token), imported: device
                ).importDevice()
            }
        }
    }
}
