package android.content;

import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.content.res.Resources;
import java.io.File;

public abstract class Context {
    public abstract Context getApplicationContext();
    public abstract ApplicationInfo getApplicationInfo();
    public abstract String getPackageName();
    public abstract PackageManager getPackageManager();
    public abstract Resources getResources();
    public abstract File getNoBackupFilesDir();
    public abstract <T> T getSystemService(Class<T> type);
    public abstract void startActivity(Intent intent);
}
